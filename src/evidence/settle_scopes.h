// What the user's hierarchy makes of a scope that no parameter votes for.
#ifndef ONNX_TAG_EVIDENCE_SETTLE_SCOPES_H_
#define ONNX_TAG_EVIDENCE_SETTLE_SCOPES_H_

#include <span>
#include <string_view>
#include <unordered_map>

#include "evidence/evidence.h"

namespace onnx_tag {

struct Settled {
  ModuleId module = kNo<ModuleId>;  // kNo: the hierarchy cannot say
  bool named = false;               // it is where the scope says
};

class ScopeSettler {
 public:
  // Does nothing where there is no complete hierarchy.
  ScopeSettler(KnownModules& known, ModuleTree& modules);

  // Whether the hierarchy has `atoms` right below `outer`.
  bool Exists(ModuleId outer, std::span<const std::string_view> atoms) const;

  // The module that a call of `atoms` inside `outer` stands for: the child of
  // that name; else the only one of that name nearest below it, since modules
  // that are not called themselves leave no trace in a scope; else the only
  // one of that name in the model, since a module may be called from where it
  // was not registered.
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
  // By last atom: how many modules of the map, and the first.
  struct Namesakes {
    std::size_t count = 0;
    ModuleId first = kNo<ModuleId>;
  };
  std::unordered_map<std::string_view, Namesakes> by_atom_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_SETTLE_SCOPES_H_
