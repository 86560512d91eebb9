#include "hierarchy/parameter_name.h"

#include "hierarchy/cut.h"

namespace onnx_tag::hierarchy {
namespace {

// Made by: torch, dynamo, onnxscript, ONNX Runtime, OnnxSlim, tf2onnx, Paddle.
constexpr std::string_view kMadePrefixes[] = {
    "onnx::",         "ortshared_",    "const_",          "_const_",
    "constant_",      "Constant_",     "_inlfunc_",       "einsum",
    "axes_const",     "new_shape",     "gemm_input_",     "gemm_output_",
    "squeeze_axes",   "splits_token_", "c_lifted_tensor", "lifted_tensor",
    "_lifted_tensor", "helper.",       "auto.",           "_onx_",
    "graph_input_",   "graph_output_", "optimizer_",      "p2o.helper",
};

constexpr std::string_view kMadeSuffixes[] = {
    "_qkv_weight",
    "_qkv_bias",
    "_new_shape",
    "_shape_cast",
};

// `val_12`, `_val_12`, `v_12`, `_v_12`, `init7_s1_-1`, `splits`: a word and a
// number.
bool IsCounted(std::string_view name) {
  const auto base = WithoutNumbered(name, "_");
  if (base && (*base == "val" || *base == "_val" || *base == "v" ||
               *base == "_v" || *base == "shared_const")) {
    return true;
  }
  return name.starts_with("init") && name.size() > 5 && IsDigit(name[4]) &&
         name.find('_') != std::string_view::npos &&
         name.find('.') == std::string_view::npos;
}

}  // namespace

bool IsParameterName(std::string_view name) {
  if (name.empty() || name[0] == '/' || IsNumeric(name)) return false;
  // A parameter without a module (`cls_token`) is hard to tell from a made-up
  // name; with a dot it is one, unless it says otherwise.
  if (name.front() == '.' || name.back() == '.') return false;
  for (const std::string_view prefix : kMadePrefixes) {
    if (name.starts_with(prefix)) return false;
  }
  for (const std::string_view suffix : kMadeSuffixes) {
    if (name.ends_with(suffix)) return false;
  }
  if (IsCounted(name)) return false;
  // tf2onnx: `model/dense/BiasAdd/ReadVariableOp:0`, `const_fold_opt__124`.
  if (WithoutNumbered(name, ":") || WithoutNumbered(name, "__")) return false;
  // Keras on torch has `_torch_params.<layer>/<variable>`; nobody else a slash.
  return name.find('/') == std::string_view::npos ||
         name.starts_with("_torch_params.");
}

ParameterName SplitParameterName(std::string_view name) {
  constexpr std::string_view kParametrized = "parametrizations.";
  if (name.starts_with(kParametrized)) return {{}, name};
  const std::size_t inner = name.find(".parametrizations.");
  if (inner != std::string_view::npos) {
    return {name.substr(0, inner), name.substr(inner + 1)};
  }
  return {BeforeLastPart(name, '.'), LastPart(name, '.')};
}

}  // namespace onnx_tag::hierarchy
