// Names whose dots and slashes became underscores. They cannot be read back by
// themselves; known modules tell which underscore is which.
#ifndef ONNX_TAG_EXPORTERS_TOOLS_SANITIZED_H_
#define ONNX_TAG_EXPORTERS_TOOLS_SANITIZED_H_

#include <string_view>

#include "onnx_tag/hierarchy.h"

namespace onnx_tag::hierarchy {

struct SanitizedMatch {
  ModuleId module = kNo<ModuleId>;  // the module that explains most of the text
  std::string_view rest;            // what it does not: "weight", "Conv", ""
  bool ambiguous = false;           // another module explains as much
};

// Matches `text` ("conv_layers_0_0_weight") from `from` downwards. Dots in the
// text are understood as well. Where not even one atom matches, the module is
// `from` and the rest the text.
SanitizedMatch MatchSanitized(const ModuleTree& tree, ModuleId from,
                              std::string_view text);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_EXPORTERS_TOOLS_SANITIZED_H_
