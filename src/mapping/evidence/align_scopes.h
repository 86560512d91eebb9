// What AlignScopes asks: which scopes are twins, and what the hierarchy has.
#ifndef ONNX_TAG_MAPPING_EVIDENCE_ALIGN_SCOPES_H_
#define ONNX_TAG_MAPPING_EVIDENCE_ALIGN_SCOPES_H_

#include <span>
#include <string_view>
#include <unordered_map>

#include "mapping/evidence/evidence.h"

namespace onnx_tag {

// Scopes that tell twins from calls.
//
// `query_1` beside `query` is a second call of the same module, or the first
// call of another one that has the same name in a part that the scope leaves
// out: `blocks.1.attention.query` prints what a second call of
// `blocks.0.attention.query` prints, because a ModuleDict and a module that is
// called as `x.forward()` are not in the stack of calls. The parameters tell:
// calls read the same, twins each their own. What stands between twins follows
// from their order.
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

// Finds the module of a scope without votes in the user's hierarchy.
class HierarchyLookup {
 public:
  // Finds nothing if there is no complete hierarchy.
  HierarchyLookup(KnownModules& known, ModuleTree& modules);

  // Whether the hierarchy has `atoms` right below `outer`.
  bool Has(ModuleId outer, std::span<const std::string_view> atoms) const;

  struct Found {
    ModuleId module = kNo<ModuleId>;  // kNo: not found
    bool named = false;               // its path is the scope itself
  };
  // The module of a call of `atoms` inside `outer`. It is the child of that
  // name. Else it is the only module of that name nearest below, because
  // containers that are not called leave no trace in a scope. Else it is the
  // only module of that name in the model, because a module may be called from
  // another place than where it was registered.
  Found Find(ModuleId outer, std::span<const std::string_view> atoms);

 private:
  ModuleId OnlyBelow(ModuleId in_map,
                     std::span<const std::string_view> atoms) const;
  ModuleId OnlyAnywhere(std::span<const std::string_view> atoms) const;

  KnownModules& known_;
  ModuleTree& modules_;
  const ModuleMap* map_ = nullptr;
  // By last atom: the number of modules of the map, and the first one.
  struct Namesakes {
    std::size_t count = 0;
    ModuleId first = kNo<ModuleId>;
  };
  std::unordered_map<std::string_view, Namesakes> by_atom_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_EVIDENCE_ALIGN_SCOPES_H_
