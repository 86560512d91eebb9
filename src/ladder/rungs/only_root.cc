#include "ladder/claim.h"

namespace onnx_tag {

std::vector<Claim> ProposeRootWhereOnlyItIsNamed(const Evidence& evidence,
                                                 const Placed& placed) {
  std::vector<Claim> claims;
  if (!evidence.only_root_is_named) return claims;
  for (const NodeId node : evidence.model.Nodes()) {
    if (placed[node].tagged()) continue;
    claims.push_back({node, ModuleId{0}, Confidence::kLow, Source::kScope,
                      "its name says the root, as every name of this file"});
  }
  return claims;
}

}  // namespace onnx_tag
