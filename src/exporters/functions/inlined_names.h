// Names that survive the inlining of dynamo_export's functions.
#ifndef ONNX_TAG_EXPORTERS_FUNCTIONS_INLINED_NAMES_H_
#define ONNX_TAG_EXPORTERS_FUNCTIONS_INLINED_NAMES_H_

#include <string_view>
#include <vector>

#include "exporters/dynamo/mangled_names.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

// `n0`, `n12`, and behind another of that name `n0_3`: nodes of the torchlib
// functions that every module calls.
bool IsTorchlibNode(std::string_view name);

struct InlinedName {
  ModuleId module = kNo<ModuleId>;
  bool complete = false;
};

// The known module that returned a value of this name, `encoder_layer_0_1`;
// kNo if there is none.
ModuleId FindInlined(const MangledNames& names, std::string_view value);

// The number of the call that returned it: 1 is the first.
int CallOf(const MangledNames& names, std::string_view value);

// Where an optimizer inlined a call before, the value's name begins with the
// function's: `<class>_encoder_1_52_encoder_layer_0_1`. The function's module
// made values of its own no more, and may have lent its name to the last call
// inside. kNo if the name is not of that kind.
ModuleId FindDissolved(const MangledNames& names, std::string_view value);

// The same for a module that may be new, as it has no parameters; it is called
// by `outer`.
InlinedName ResolveInlined(MangledNames& names, const ModuleTree& tree,
                           std::string_view value, ModuleId outer,
                           const std::vector<bool>& called);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EXPORTERS_FUNCTIONS_INLINED_NAMES_H_
