#include "hierarchy/parameter_name.h"

#include <algorithm>
#include <iterator>

#include "hierarchy/cut.h"
#include "hierarchy/onnxscript_nn.h"

namespace onnx_tag::hierarchy {
namespace {

// Made by: torch, dynamo, onnxscript, ONNX Runtime, OnnxSlim, tf2onnx, Paddle.
constexpr std::string_view kMadePrefixes[] = {
    "onnx::",         "ortshared_",    "const_",          "_const_",
    "constant_",      "Constant_",     "_inlfunc_",       "einsum",
    "axes_const",     "new_shape",     "gemm_input_",     "gemm_output_",
    "squeeze_axes",   "_Constant_",    "c_lifted_tensor", "lifted_tensor",
    "_lifted_tensor", "helper.",       "auto.",           "_onx_",
    "graph_input_",   "graph_output_", "node_",           "p2o.helper",
};

constexpr std::string_view kMadeSuffixes[] = {
    "_qkv_weight",
    "_qkv_bias",
    "_new_shape",
    "_shape_cast",
};

// Folded constants keep the name of the fx node that they were. Sorted.
constexpr std::string_view kFxNodes[] = {
    "_to_copy",    "add",        "arange",    "bitwise_and", "cat",
    "clone",       "copy",       "cos",       "cumsum",      "div",
    "embedding",   "eq",         "expand",    "full",        "full_like",
    "ge",          "gt",         "index",     "le",          "linspace",
    "logical_and", "lt",         "mul",       "ne",          "neg",
    "ones",        "ones_like",  "permute",   "pow",         "reshape",
    "rsub",        "select",     "sin",       "slice",       "splits",
    "squeeze",     "stack",      "sub",       "to",          "transpose",
    "tril",        "triu",       "unsqueeze", "view",        "where",
    "zeros",       "zeros_like",
};

// Without a module only the word itself tells `cls_token` from `add_12`.
bool IsRootParameterName(std::string_view name) {
  if (IsUpper(name[0]) || WithoutNumbered(name, "_")) return false;
  if (name.starts_with("init") && name.size() > 4 && IsDigit(name[4])) {
    return false;
  }
  return !std::binary_search(std::begin(kFxNodes), std::end(kFxNodes), name);
}

}  // namespace

bool IsParameterName(std::string_view name) {
  if (name.empty() || name[0] == '/' || IsNumeric(name)) return false;
  if (name.front() == '.' || name.back() == '.') return false;
  for (const std::string_view prefix : kMadePrefixes) {
    if (name.starts_with(prefix)) return false;
  }
  for (const std::string_view suffix : kMadeSuffixes) {
    if (name.ends_with(suffix)) return false;
  }
  // tf2onnx: `model/dense/BiasAdd/ReadVariableOp:0`, `const_fold_opt__124`.
  if (WithoutNumbered(name, ":") || WithoutNumbered(name, "__")) return false;
  // Keras on torch has `_torch_params.<layer>/<variable>`; nobody else a slash.
  if (name.find('/') != std::string_view::npos) {
    return name.starts_with("_torch_params.");
  }
  if (name.find('.') == std::string_view::npos) {
    return IsRootParameterName(name);
  }
  return !SplitOnnxscriptValue(name).ok;
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
