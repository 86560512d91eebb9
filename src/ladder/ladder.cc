// The ladder: rungs in order, the first claim on a node wins.
#include "ladder/ladder.h"

#include <algorithm>

namespace onnx_tag {
namespace {

// The body of a module's function is the module's, and what it calls.
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
  if (LeavesFunction(evidence, claim)) return std::nullopt;
  if (claim.source == Source::kRule || !evidence.IsImpossible(claim.module)) {
    return claim;
  }
  if (claim.source == Source::kOperation || claim.source == Source::kLocality) {
    return std::nullopt;
  }
  while (evidence.IsImpossible(claim.module)) {
    claim.module = evidence.modules.Parent(claim.module);
  }
  claim.confidence = std::min(claim.confidence, Confidence::kMedium);
  claim.source = Source::kHierarchy;
  claim.because =
      "the hierarchy has no such module as its name says, but this one around "
      "it";
  return claim;
}

void Climb(const Evidence& evidence, const Rung& rung, Placed& placed) {
  for (const Claim& proposed : rung.propose(evidence, placed)) {
    Tag& tag = placed[proposed.node];
    if (tag.tagged()) continue;
    const std::optional<Claim> claim = Admit(evidence, proposed);
    if (!claim) continue;
    tag.module = claim->module;
    tag.confidence = claim->confidence;
    tag.source = claim->source;
  }
}

}  // namespace onnx_tag
