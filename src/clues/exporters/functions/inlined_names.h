// Names that survive the inlining of dynamo_export's functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "clues/exporters/dynamo/mangled_names.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// The names of the values that a node makes.
std::vector<std::string_view> ResultsOf(const Model& model, NodeId node);

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
ModuleId FindInlinedBefore(const MangledNames& names, std::string_view value);

// The same for a module that may be new, as it has no parameters; it is called
// by `outer`.
InlinedName ResolveInlined(MangledNames& names, const ModuleTree& tree,
                           std::string_view value, ModuleId outer,
                           const std::vector<bool>& called);

// Numbers that dynamo_export and torchlib put into node names, and the calls
// of torchlib's functions that they show.
struct BodyName {
  enum Kind : std::uint8_t {
    kOther,
    kOwn,        // `Transpose_5`, `aten_expand_32_n2`: the item's number
    kRewritten,  // `node_MatMul_0`: made by an optimizer
    kHelper,     // `n3`: a node of one of torchlib's functions, which every
                 // module calls
  };
  Kind kind = kOther;
  std::uint32_t number = 0;
};

// Numbers that only keep names apart (`n3_6`) are passed over.
BodyName ParseBodyName(std::string_view name, std::string_view op_type);

}  // namespace onnx_tag
