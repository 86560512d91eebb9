#include "exporters/tensorflow/tf2onnx.h"

#include <algorithm>
#include <iterator>

#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

// Scopes that TensorFlow's own functions open inside a layer, and ops that lie
// above their inputs' names. Sorted.
constexpr std::string_view kInnerScopes[] = {"Add",
                                             "AddV2",
                                             "AssignVariableOp",
                                             "BatchMatMulV2",
                                             "BiasAdd",
                                             "BroadcastTo",
                                             "Cast",
                                             "ClipByValue",
                                             "Conv1D",
                                             "Conv2D",
                                             "DepthwiseConv2dNative",
                                             "Einsum",
                                             "Erf",
                                             "ExpandDims",
                                             "FusedBatchNormV3",
                                             "Gather",
                                             "GatherV2",
                                             "Gelu",
                                             "MatMul",
                                             "Max",
                                             "MaxPool",
                                             "Mean",
                                             "Mul",
                                             "Pad",
                                             "Pow",
                                             "ReadVariableOp",
                                             "Relu",
                                             "Reshape",
                                             "ResourceGather",
                                             "Rsqrt",
                                             "Shape",
                                             "Sigmoid",
                                             "Softmax",
                                             "Sqrt",
                                             "Square",
                                             "StatefulPartitionedCall",
                                             "Sub",
                                             "Sum",
                                             "Tanh",
                                             "TensorArrayUnstack",
                                             "TensorArrayV2Read",
                                             "Tensordot",
                                             "Tile",
                                             "Transpose",
                                             "add",
                                             "batchnorm",
                                             "einsum",
                                             "moments",
                                             "mul",
                                             "ones",
                                             "ones_like",
                                             "strided_slice",
                                             "sub",
                                             "truediv",
                                             "while",
                                             "zeros",
                                             "zeros_like"};
static_assert(std::is_sorted(std::begin(kInnerScopes), std::end(kInnerScopes)));

bool IsInnerScope(std::string_view segment) {
  const auto has = [](std::string_view word) {
    return std::binary_search(std::begin(kInnerScopes), std::end(kInnerScopes),
                              word);
  };
  return has(segment) || has(WithoutKerasSuffix(segment));
}

// Keras calls its Add layers `add` and `add_1`, as TensorFlow does the scope of
// an addition's constants.
bool IsAddLayer(std::string_view segment, std::string_view op) {
  return WithoutKerasSuffix(segment) == "add" &&
         (op == "Add" || op == "AddV2" || op == "AddN" || op == "add");
}

bool IsCall(std::string_view segment) {
  const std::string_view bare = WithoutKerasSuffix(segment);
  return bare == "StatefulPartitionedCall" || bare == "PartitionedCall" ||
         bare == "Func" || bare.empty();
}

// tf2onnx names the graphs of a loop after the loop:
// `__inference_<…>_frozen_931_<scope>`, `cond___<scope>`.
std::string_view WithoutGraphPrefix(std::string_view name) {
  while (ConsumePrefix(name, "cond_") || ConsumePrefix(name, "body_")) {
    while (ConsumePrefix(name, "_")) {
    }
  }
  constexpr std::string_view kFrozen = "_frozen_";
  if (!name.starts_with("__inference_")) return name;
  const std::size_t at = name.find(kFrozen);
  if (at == std::string_view::npos) return name;
  std::string_view rest = name.substr(at + kFrozen.size());
  while (!rest.empty() && IsDigit(rest[0])) rest.remove_prefix(1);
  return ConsumePrefix(rest, "_") && !rest.empty() ? rest : name;
}

std::string_view WithoutPortAndCounter(std::string_view name) {
  name = WithoutNumbered(name, ":").value_or(name);
  return WithoutNumbered(name, "__").value_or(name);
}

void AppendSegment(std::string_view segment,
                   std::vector<std::string_view>& segments) {
  // Hugging Face's TensorFlow lists: `layer_._23`.
  const std::size_t list = segment.find("_._");
  if (list != std::string_view::npos && list > 0 &&
      IsNumeric(segment.substr(list + 3))) {
    segments.push_back(segment.substr(0, list));
    segments.push_back(segment.substr(list + 3));
  } else {
    segments.push_back(segment);
  }
}

}  // namespace

std::string_view WithoutKerasSuffix(std::string_view segment) {
  const auto bare = WithoutNumbered(segment, "_");
  return bare && !bare->empty() ? *bare : segment;
}

TfName SplitTfName(std::string_view name) {
  TfName result;
  name = WithoutGraphPrefix(WithoutPortAndCounter(name));
  if (name.starts_with('/')) return result;
  std::string_view scope = BeforeLastPart(name, '/');
  result.op = WithoutKerasSuffix(LastPart(name, '/'));
  while (!scope.empty() && IsInnerScope(LastPart(scope, '/')) &&
         !IsAddLayer(LastPart(scope, '/'), result.op)) {
    scope = BeforeLastPart(scope, '/');
  }
  bool leading = true;
  while (!scope.empty()) {
    const std::size_t slash = scope.find('/');
    const std::string_view segment = scope.substr(0, slash);
    scope.remove_prefix(slash == std::string_view::npos ? scope.size()
                                                        : slash + 1);
    if (segment.empty() || (leading && IsCall(segment))) continue;
    leading = false;
    // What a loop or a call holds keeps its layer: `gru/while/gru_cell`.
    if (WithoutKerasSuffix(segment) == "while" || IsCall(segment)) continue;
    AppendSegment(segment, result.segments);
  }
  result.ok = !result.segments.empty();
  return result;
}

}  // namespace onnx_tag::hierarchy
