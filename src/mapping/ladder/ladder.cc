// The ladder: rungs in order, the first claim on a node wins.
#include "mapping/ladder/ladder.h"

#include <algorithm>

namespace onnx_tag {
namespace {

// The body of a module's function belongs to the module or to modules it calls.
bool LeavesFunction(const Evidence& evidence, const Claim& claim) {
  if (claim.source != Source::kLocality) return false;
  const FunctionId owner =
      evidence.functions.OwnerOf(evidence.model[claim.node].graph);
  if (owner == kNo<FunctionId>) return false;
  const ModuleId module = evidence.functions[owner].module;
  return module != kNo<ModuleId> &&
         !evidence.modules.IsAncestor(module, claim.module);
}

}  // namespace

std::optional<Claim> Admit(const Evidence& evidence, Claim claim) {
  if (claim.source == Source::kRule) return claim;  // the user knows better
  if (LeavesFunction(evidence, claim)) return std::nullopt;
  if (!evidence.IsImpossible(claim.module)) return claim;
  if (claim.source == Source::kOperation || claim.source == Source::kLocality) {
    return std::nullopt;
  }
  while (evidence.IsImpossible(claim.module)) {
    claim.module = evidence.modules.Parent(claim.module);
  }
  claim.confidence = std::min(claim.confidence, Confidence::kMedium);
  claim.source = Source::kHierarchy;
  claim.because =
      "the hierarchy does not have the module in its name, but has this parent";
  return claim;
}

void Accept(const Claim& claim, Placed& placed) {
  Tag& tag = placed[claim.node];
  tag.module = claim.module;
  tag.confidence = claim.confidence;
  tag.source = claim.source;
}

std::vector<Claim> Climb(const Evidence& evidence, const Rung& rung,
                         Placed& placed) {
  std::vector<Claim> claims = rung.propose(evidence, placed);
  std::size_t accepted = 0;
  for (const Claim& proposed : claims) {
    if (placed[proposed.node].tagged()) continue;
    const std::optional<Claim> claim = Admit(evidence, proposed);
    if (!claim) continue;
    Accept(*claim, placed);
    claims[accepted++] = *claim;
  }
  claims.resize(accepted);
  return claims;
}

}  // namespace onnx_tag
