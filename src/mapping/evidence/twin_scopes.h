// Scopes that tell twins from calls.
//
// `query_1` beside `query` is a second call of the same module, or the first
// call of another one that has the same name in a part that the scope leaves
// out: `blocks.1.attention.query` prints what a second call of
// `blocks.0.attention.query` prints, because a ModuleDict and a module that is
// called as `x.forward()` are not in the stack of calls. The parameters tell:
// calls read the same, twins each their own. What stands between twins follows
// from their order.
#pragma once

#include "mapping/evidence/evidence.h"

namespace onnx_tag {

struct TwinScope {
  ModuleId module = kNo<ModuleId>;  // kNo: the scope is no twin
  bool proven = false;              // a parameter of its own says so
  // Only its place among twins says so: one module that is called as often
  // would print the same.
  bool by_order = false;
};

// By scope. Expects `first_call` of the scopes to be filled in.
IdVector<ScopeId, TwinScope> FindTwinScopes(const GraphFacts& graph,
                                            const ParameterFacts& parameters,
                                            const ScopeFacts& scopes,
                                            ModuleTree& modules);

}  // namespace onnx_tag
