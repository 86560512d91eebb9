#include "exporters/onnxscript/onnxscript_nn.h"

#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {

ScopedName SplitOnnxscriptNode(std::string_view name) {
  const auto node = WithoutNumbered(name, "_node_");
  if (!node || node->starts_with('/')) return {};
  const std::string_view op = LastPart(*node, '/');
  if (op.empty()) return {};
  return {BeforeLastPart(*node, '/'), op, true};
}

ScopedName SplitOnnxscriptValue(std::string_view name) {
  if (!ConsumePrefix(name, "v_")) return {};
  const auto value = WithoutNumbered(name, "_");
  if (!value) return {};
  const std::string_view op = LastPart(*value, '.');
  // The op keeps `v_0` and `v_hidden_3`, which others write, out.
  if (op.empty() || !IsUpper(op[0])) return {};
  return {BeforeLastPart(*value, '.'), op, true};
}

}  // namespace onnx_tag::hierarchy
