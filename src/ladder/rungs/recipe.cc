// Nodes that the recipe book places.
#include <optional>

#include "ladder/claim.h"
#include "ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

std::vector<Claim> ClaimsOf(const Evidence& evidence, const Placed& placed,
                            bool firm) {
  std::vector<Claim> claims;
  std::optional<Bounds> bounds;
  for (const RecipeFact& fact : evidence.recipes) {
    if (fact.firm != firm || placed[fact.node].tagged()) continue;
    if (fact.confidence == Confidence::kLow) {
      if (!bounds) {
        bounds = FindBounds(evidence, placed, DataValues(evidence.model));
      }
      // What the file's own parameters stand around is deeper inside.
      const ModuleId inside = bounds->inside[fact.node];
      if (inside != kNo<ModuleId> && inside != fact.module &&
          evidence.modules.IsAncestor(fact.module, inside)) {
        continue;
      }
    }
    claims.push_back({fact.node, fact.module, fact.confidence,
                      Source::kOperation, fact.because});
  }
  return claims;
}

}  // namespace

std::vector<Claim> ProposeFromRecipes(const Evidence& evidence,
                                      const Placed& placed) {
  return ClaimsOf(evidence, placed, true);
}

std::vector<Claim> ProposeFromLooseRecipes(const Evidence& evidence,
                                           const Placed& placed) {
  return ClaimsOf(evidence, placed, false);
}

}  // namespace onnx_tag
