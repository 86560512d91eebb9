// Module paths as torch.fx prints them: dots, brackets and runs of underscores
// as one underscore, capitals as in snake_case. The modules that are known
// tell where an atom ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"

namespace onnx_tag {

// "getattr_L__self___layer1___0___LayerNorm" is "layer1_0_layer_norm".
struct Mangled {
  std::string text;
  std::vector<std::size_t> source;  // where each of its characters was
};
Mangled Mangle(std::string_view name);

class MangledNames {
 public:
  // Knows the modules that `tree` has now, and those it adds itself.
  explicit MangledNames(ModuleTree& tree);

  struct Match {
    ModuleId module = kNo<ModuleId>;
    bool complete = false;  // every atom was known
  };

  // The module that `name` stands for when `outer` calls it; what is left of
  // the name becomes new modules. They are none of a module below `outer` that
  // is `called` itself: it would call them.
  Match Resolve(std::string_view name, ModuleId outer,
                const std::vector<bool>& called);

  // The module whose whole path the name is; kNo if there is none.
  ModuleId Find(std::string_view name) const;

 private:
  void Learn(ModuleId module);
  ModuleId AddRest(ModuleId module, std::string_view rest);
  std::string PathOf(ModuleId module) const;

  ModuleTree& tree_;
  ModuleTree mangled_;
  IdVector<ModuleId, ModuleId> original_;     // by module of mangled_
  IdVector<ModuleId, ModuleId> counterpart_;  // by module of tree_
};

}  // namespace onnx_tag

// Names whose dots and slashes became underscores. They cannot be read back by
// themselves; known modules tell which underscore is which.
namespace onnx_tag::hierarchy {

struct SanitizedMatch {
  ModuleId module = kNo<ModuleId>;  // the module that explains most of the text
  std::string_view rest;            // what it does not: "weight", "Conv", ""
  std::size_t tried = 0;            // modules
};

// Matches `text` ("conv_layers_0_0_weight") from `from` downwards. Dots in the
// text are understood as well. Where not even one atom matches, the module is
// `from` and the rest the text.
SanitizedMatch MatchSanitized(const ModuleTree& tree, ModuleId from,
                              std::string_view text);

}  // namespace onnx_tag::hierarchy
