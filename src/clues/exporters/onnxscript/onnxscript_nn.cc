#include <algorithm>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "core/hierarchy/name_parts.h"

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

// A file of onnxscript.nn's graph builder whose metadata is gone: its names
// still contain the whole path.
namespace onnx_tag {
namespace {

class OnnxscriptNames : public DialectNames {
 public:
  explicit OnnxscriptNames(const Model& model) : model_(model) {}

  std::optional<NamedModule> OfNode(NodeId node) const override {
    const auto name = hierarchy::SplitOnnxscriptNode(
        hierarchy::UndoNodeName(model_[node].name).name);
    if (name.ok) {
      std::string module(name.scope);
      std::replace(module.begin(), module.end(), '/', '.');
      return NamedModule{std::move(module),
                         Confidence::kHigh,
                         "its name contains the module's path",
                         {}};
    }
    for (const ValueId value : model_.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const auto output = hierarchy::SplitOnnxscriptValue(
          hierarchy::UndoTensorName(model_.ValueName(value)).name);
      if (!output.ok) continue;
      return NamedModule{std::string(output.scope),
                         Confidence::kHigh,
                         "the name of its output contains the module's path",
                         {}};
    }
    return std::nullopt;
  }

  std::optional<std::string> OwnerOf(std::string_view tensor) const override {
    if (!hierarchy::IsParameterName(tensor)) return std::nullopt;
    return std::string(hierarchy::SplitParameterName(tensor).module);
  }

 private:
  const Model& model_;
};

}  // namespace

std::shared_ptr<const DialectNames> ReadOnnxscriptNames(const Model& model) {
  return std::make_shared<OnnxscriptNames>(model);
}

}  // namespace onnx_tag
