// Nodes that the recipe book places.
#include <optional>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

std::vector<Claim> ClaimsOf(const Evidence& evidence, const Placed& placed,
                            const Claims& recipes) {
  std::vector<Claim> claims;
  std::optional<Bounds> bounds;
  for (const Claim& claim : recipes) {
    if (placed[claim.node].tagged()) continue;
    if (claim.confidence == Confidence::kLow) {
      if (!bounds) {
        bounds = FindBounds(evidence, placed, evidence.graph.data);
      }
      // What the file's own parameters stand around is deeper inside.
      const ModuleId inside = bounds->inside[claim.node];
      if (inside != kNo<ModuleId> && inside != claim.module &&
          evidence.modules.IsAncestor(claim.module, inside)) {
        continue;
      }
    }
    claims.push_back(claim);
  }
  return claims;
}

}  // namespace

std::vector<Claim> ProposeFromRecipes(const Evidence& evidence,
                                      const Placed& placed) {
  return ClaimsOf(evidence, placed, evidence.recipes);
}

std::vector<Claim> ProposeFromLooseRecipes(const Evidence& evidence,
                                           const Placed& placed) {
  return ClaimsOf(evidence, placed, evidence.loose_recipes);
}

}  // namespace onnx_tag
