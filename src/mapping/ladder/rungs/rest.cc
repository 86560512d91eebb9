// What remains where nothing else is known: the root where only it is named,
// and the function around a node.
#include "mapping/ladder/claim.h"

namespace onnx_tag {

std::vector<Claim> ProposeRootWhereOnlyItIsNamed(const Evidence& evidence,
                                                 const Placed& placed) {
  std::vector<Claim> claims;
  if (!evidence.only_root_is_named) return claims;
  for (const NodeId node : evidence.model.Nodes()) {
    if (placed[node].tagged()) continue;
    claims.push_back(
        {node, ModuleId{0}, Confidence::kLow, Source::kScope,
         "its name contains only the root, as all names of this file"});
  }
  return claims;
}

std::vector<Claim> ProposeForFunctionBodies(const Evidence& evidence,
                                            const Placed& placed) {
  const FunctionTable& table = evidence.functions;
  std::vector<Claim> claims;
  for (const FunctionId id : table.CallersFirst()) {
    const ModuleId module = table[id].module;
    if (module == kNo<ModuleId>) continue;
    for (const NodeId node : table.Body(id)) {
      if (placed[node].tagged()) continue;
      claims.push_back({node, module, Confidence::kLow, Source::kScope,
                        "it is in the function of this module"});
    }
  }
  return claims;
}

}  // namespace onnx_tag
