// Claims from the scopes in names of nodes, and in surviving names of values.
#include "mapping/ladder/claim.h"

namespace onnx_tag {

std::vector<Claim> ProposeFromScope(const Evidence& evidence,
                                    const Placed& placed) {
  std::vector<Claim> claims;
  for (const NodeId node : evidence.model.Nodes()) {
    const ScopeId scope = evidence.node_scope[node];
    if (scope == kNo<ScopeId> || placed[node].tagged()) continue;
    const ModuleId module = evidence.scopes[scope].module;
    const bool sure = evidence.scopes[scope].proven;
    const bool own = evidence.Proves(evidence.model, node, module);
    const bool settled = !own && evidence.scopes[scope].settled;
    const bool by_order = !own && evidence.scopes[scope].by_order;
    claims.push_back(
        {node, module,
         sure || own ? Confidence::kCertain
         : by_order  ? Confidence::kMedium
                     : Confidence::kHigh,
         own       ? Source::kScopeAndParameter
         : settled ? Source::kHierarchy
                   : Source::kScope,
         own ? "its name and its parameter name the same module"
         : settled
             ? "its name contains the scope, and one module of the hierarchy "
               "matches it"
         : sure && evidence.known.map != nullptr
             ? "its name contains the scope, and the hierarchy has this module"
         : by_order
             ? "its name contains the scope, which is called as often as "
               "modules beside it that lists hold"
         : scope == ScopeId{0} ? "its name has the scope of the root module"
         : sure ? "its name contains the scope, and parameters confirm it"
                : "its name contains the scope"});
  }
  for (const NodeId node : evidence.model.Nodes()) {
    const ScopeId scope = evidence.value_scope[node];
    if (scope == kNo<ScopeId> || placed[node].tagged()) continue;
    claims.push_back({node, evidence.scopes[scope].module, Confidence::kHigh,
                      Source::kValueName,
                      evidence.named_by_constant[node]
                          ? "a tool named a constant after a scoped value that "
                            "it makes or converts"
                          : "its output still has the name of a scoped node"});
  }
  return claims;
}

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

}  // namespace onnx_tag
