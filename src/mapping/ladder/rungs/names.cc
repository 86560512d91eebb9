// What names say: scopes in the names of nodes and values, and local functions.
#include "mapping/ladder/claim.h"

namespace onnx_tag {
namespace {

// How far the path of a scope is trusted that no parameter confirms.
Confidence UnconfirmedLevel(const Evidence& evidence, ScopeId id) {
  const Scope& scope = evidence.scopes[id];
  if (scope.shareable) return Confidence::kLow;
  return scope.by_order || scope.doubtful ? Confidence::kMedium
                                          : Confidence::kHigh;
}

}  // namespace

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
         sure || own ? Confidence::kCertain : UnconfirmedLevel(evidence, scope),
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
         : evidence.scopes[scope].shareable
             ? "its name contains the scope, but one module without weights "
               "may serve several callers of this name"
         : evidence.scopes[scope].doubtful
             ? "its name contains the scope, but no parameter and no module "
               "beside it confirms the place of the module"
             : "its name contains the scope"});
  }
  for (const NodeId node : evidence.model.Nodes()) {
    const ScopeId scope = evidence.value_scope[node];
    if (scope == kNo<ScopeId> || placed[node].tagged()) continue;
    claims.push_back({node, evidence.scopes[scope].module,
                      UnconfirmedLevel(evidence, scope), Source::kValueName,
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

// Local functions: the calls, and the nodes of their bodies.

namespace {

// Whether the graph is the body of a package function. Helpers do not count;
// their bodies are placed after their calls.
bool InPackage(const FunctionTable& table, FunctionId owner) {
  return owner != kNo<FunctionId> &&
         table[owner].kind == FunctionKind::kPackage &&
         table[owner].module != kNo<ModuleId>;
}

bool HasPackageCallInMain(const Evidence& evidence) {
  for (const FunctionCall& call : evidence.functions.calls()) {
    if (evidence.functions[call.function].kind == FunctionKind::kPackage &&
        evidence.functions.OwnerOf(evidence.model[call.node].graph) ==
            kNo<FunctionId>) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Claim> ProposeFromFunctions(const Evidence& evidence,
                                        const Placed& placed) {
  const FunctionTable& table = evidence.functions;
  std::vector<Claim> claims;
  if (table.empty()) return claims;
  for (const FunctionCall& call : table.calls()) {
    if (call.module == kNo<ModuleId> || placed[call.node].tagged()) continue;
    const bool named = table[call.function].kind == FunctionKind::kPackage;
    claims.push_back({call.node, call.module,
                      call.sure ? Confidence::kCertain : Confidence::kHigh,
                      named ? Source::kScope : Source::kParameter,
                      named ? "it calls the function of this module"
                            : "it calls a module's function with this "
                              "module's parameters"});
  }
  // dynamo_export makes a function of every module. So the nodes of a body
  // belong to that module, and the nodes outside of functions belong to the
  // root.
  const bool main_is_root = HasPackageCallInMain(evidence);
  for (const NodeId node : evidence.model.Nodes()) {
    if (placed[node].tagged()) continue;
    const FunctionId owner = table.OwnerOf(evidence.model[node].graph);
    if (InPackage(table, owner)) {
      claims.push_back(
          {node, table[owner].module,
           table[owner].sure ? Confidence::kCertain : Confidence::kHigh,
           Source::kScope, "it is in the function of this module"});
    } else if (owner == kNo<FunctionId> && main_is_root) {
      claims.push_back({node, ModuleTree::kRoot, Confidence::kHigh,
                        Source::kScope,
                        "every module below the root has a function, and it "
                        "is in none of them"});
    }
  }
  return claims;
}

std::vector<Claim> ProposeForHelperBodies(const Evidence& evidence,
                                          const Placed& placed) {
  const FunctionTable& table = evidence.functions;
  std::vector<Claim> claims;
  if (table.empty()) return claims;
  // Helpers call helpers. If a call is not placed, the call of the enclosing
  // function is used.
  IdVector<FunctionId, Tag> calls(table.size());
  for (const FunctionId id : table.CallersFirst()) {
    const LocalFunction& function = table[id];
    if (function.first_call == kNo<NodeId>) continue;
    const FunctionId outer =
        table.OwnerOf(evidence.model[function.first_call].graph);
    calls[id] = placed[function.first_call].tagged() || outer == kNo<FunctionId>
                    ? placed[function.first_call]
                    : calls[outer];
    if (function.kind == FunctionKind::kClass &&
        function.module != kNo<ModuleId>) {
      calls[id] = Tag();  // recursion: its body is not its caller
    }
    if (!calls[id].tagged()) continue;
    for (const NodeId node : table.Body(id)) {
      if (placed[node].tagged()) continue;
      claims.push_back({node, calls[id].module, calls[id].confidence,
                        calls[id].source,
                        "it is in a function that this module calls"});
    }
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
