// Names of initializers: which are a state_dict's, and whose.
#pragma once

#include <string_view>

namespace onnx_tag::hierarchy {

// Whether `name` may be a parameter of the source model. Names that exporters
// and optimizers make up (`onnx::MatMul_12`, `val_3`, `/a/Constant_output_0`)
// are not. UndoTensorName comes first.
bool IsParameterName(std::string_view name);

// Whether `name` ends like a parameter of a usual module. A graph's input
// (`past_key_values.0.key`) may have a path, too.
bool HasParameterSuffix(std::string_view name);

// Whether `name` looks like a parameter's with underscores for dots, and so is
// for mangled_names.h: `p_model_layers_0_fc_weight`, `blocks_1_norm_bias`. A
// value (`mul_11_weight`) may look the same.
bool IsSanitizedParameterName(std::string_view name);

// ONNX Runtime's generation graphs put `e_`, `d_`, `s_` or `s_d_` before every
// name of the encoder, the decoder and their sub-graphs. The prefix, or "".
std::string_view GenerationPrefix(std::string_view name);

struct ParameterName {
  std::string_view module;     // "" for a parameter of the root
  std::string_view parameter;  // "weight", "parametrizations.weight.original0"
};

// The last atom is the parameter, whatever it is called. `name` must be a
// parameter's.
ParameterName SplitParameterName(std::string_view name);

}  // namespace onnx_tag::hierarchy
