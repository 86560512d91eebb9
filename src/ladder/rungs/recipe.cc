// Nodes that the recipe book places.
#include "ladder/claim.h"

namespace onnx_tag {
namespace {

std::vector<Claim> ClaimsOf(const Evidence& evidence, const Placed& placed,
                            bool firm) {
  std::vector<Claim> claims;
  for (const RecipeFact& fact : evidence.recipes) {
    if (fact.firm != firm || placed[fact.node].tagged()) continue;
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
