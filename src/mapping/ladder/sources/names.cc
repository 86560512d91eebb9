// What names say: scopes in the names of nodes and values, and local functions.
#include <optional>

#include "mapping/ladder/sources.h"

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

void ReadScopes(const Evidence& evidence, ClueWriter& out) {
  for (const NodeId node : evidence.model.Nodes()) {
    const ScopeId scope = evidence.node_scope[node];
    if (scope == kNo<ScopeId>) continue;
    const ModuleId module = evidence.scopes[scope].module;
    const bool sure = evidence.scopes[scope].proven;
    const bool own = evidence.Proves(evidence.model, node, module);
    const bool settled = !own && evidence.scopes[scope].settled;
    const bool by_order = !own && evidence.scopes[scope].by_order;
    out.Add(
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
    if (scope == kNo<ScopeId>) continue;
    out.Add({node, evidence.scopes[scope].module,
             UnconfirmedLevel(evidence, scope), Source::kValueName,
             evidence.named_by_constant[node]
                 ? "a tool named a constant after a scoped value that it makes "
                   "or converts"
                 : "its output still has the name of a scoped node"});
  }
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

void ReadFunctions(const Evidence& evidence, ClueWriter& out) {
  const FunctionTable& table = evidence.functions;
  if (table.empty()) return;
  for (const FunctionCall& call : table.calls()) {
    if (call.module == kNo<ModuleId>) continue;
    const bool named = table[call.function].kind == FunctionKind::kPackage;
    out.Add({call.node, call.module,
             call.sure ? Confidence::kCertain : Confidence::kHigh,
             named ? Source::kScope : Source::kParameter,
             named ? "it calls the function of this module"
                   : "it calls a module's function with this module's "
                     "parameters"});
  }
  // dynamo_export makes a function of every module. So the nodes of a body
  // belong to that module, and the nodes outside of functions belong to the
  // root.
  const bool main_is_root = HasPackageCallInMain(evidence);
  for (const NodeId node : evidence.model.Nodes()) {
    const FunctionId owner = table.OwnerOf(evidence.model[node].graph);
    if (InPackage(table, owner)) {
      out.Add({node, table[owner].module,
               table[owner].sure ? Confidence::kCertain : Confidence::kHigh,
               Source::kScope, "it is in the function of this module"});
    } else if (owner == kNo<FunctionId> && main_is_root) {
      out.Add({node, ModuleTree::kRoot, Confidence::kHigh, Source::kScope,
               "every module below the root has a function, and it is in none "
               "of them"});
    }
  }
}

void ReadHelperBodies(const Evidence& evidence, ClueWriter& out) {
  const FunctionTable& table = evidence.functions;
  if (table.empty()) return;
  // Helpers call helpers. If a call is not placed, the call of the enclosing
  // function is used.
  IdVector<FunctionId, std::optional<Clue>> calls(table.size());
  for (const FunctionId id : table.CallersFirst()) {
    const LocalFunction& function = table[id];
    if (function.first_call == kNo<NodeId>) continue;
    const FunctionId outer =
        table.OwnerOf(evidence.model[function.first_call].graph);
    const Clue* const said = out.Strongest(function.first_call);
    if (said != nullptr && said->from != WriterId::kHelperBody) {
      calls[id] = *said;
    } else if (outer != kNo<FunctionId>) {
      calls[id] = calls[outer];
    }
    if (function.kind == FunctionKind::kClass &&
        function.module != kNo<ModuleId>) {
      calls[id].reset();  // recursion: its body is not its caller
    }
    if (!calls[id]) continue;
    for (const NodeId node : table.Body(id)) {
      out.Add({node, calls[id]->module, calls[id]->level, calls[id]->source,
               "it is in a function that this module calls"});
    }
  }
}

}  // namespace onnx_tag
