// Finds the module of a scope without votes in the user's hierarchy.
#ifndef ONNX_TAG_EVIDENCE_SETTLE_SCOPES_H_
#define ONNX_TAG_EVIDENCE_SETTLE_SCOPES_H_

#include <span>
#include <string_view>
#include <unordered_map>

#include "evidence/evidence.h"

namespace onnx_tag {

struct Settled {
  ModuleId module = kNo<ModuleId>;  // kNo: not found
  bool named = false;               // its path is the scope itself
};

class ScopeSettler {
 public:
  // Does nothing if there is no complete hierarchy.
  ScopeSettler(KnownModules& known, ModuleTree& modules);

  // Whether the hierarchy has `atoms` right below `outer`.
  bool Exists(ModuleId outer, std::span<const std::string_view> atoms) const;

  // The module of a call of `atoms` inside `outer`. It is the child of that
  // name. Else it is the only module of that name nearest below, because
  // containers that are not called leave no trace in a scope. Else it is the
  // only module of that name in the model, because a module may be called from
  // another place than where it was registered.
  Settled Settle(ModuleId outer, std::span<const std::string_view> atoms);

 private:
  ModuleId Child(ModuleId in_map,
                 std::span<const std::string_view> atoms) const;
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

#endif  // ONNX_TAG_EVIDENCE_SETTLE_SCOPES_H_
