#include "app/commands/read/rollup.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "app/render/render.h"
#include "base/lists.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

constexpr std::array<std::string_view, 7> kOwnKeys = {
    "module", "class", "layer", "role", "op", "line", "node"};

// "encoder.layer.3": encoders and decoders count alike, so the list they count
// in is named, too.
std::string LayerLabel(const std::string& path, std::int32_t layer) {
  if (layer < 0) return "[no layer]";
  const std::string index = std::to_string(layer);
  std::string prefix;
  for (const std::string_view atom : Split(path, '.')) {
    if (!prefix.empty()) prefix += '.';
    prefix += atom;
    if (atom == index) return prefix;
  }
  return fmt::format("layer {}", layer);
}

}  // namespace

std::vector<std::string_view> RowKeyNames() {
  static const std::vector<Column> columns = NodeTable::Columns();
  std::vector<std::string_view> names(kOwnKeys.begin(), kOwnKeys.end());
  for (const Column& column : columns) {
    if (!column.heading.empty() && !IsAmong(column.heading, names)) {
      names.push_back(column.heading);
    }
  }
  return names;
}

NodeKey::NodeKey(const TaggedModel& model, std::string_view name)
    : model_(model), name_(name) {
  const std::vector<std::string_view> names = RowKeyNames();
  if (!IsAmong(name, names)) {
    const std::string_view near = NearestWord(name, names);
    Fail(ErrorKind::kUsage, "unknown key for --by '{}'{}", name,
         Ours{near.empty() ? "" : Message(", did you mean '{}'?", near)});
  }
  if (!IsAmong(name, kOwnKeys)) {
    const std::vector<Column> columns = NodeTable::Columns();
    while (columns[column_].heading != name) ++column_;
    nodes_.emplace(model.model(), model.tagging());
  }
}

std::string_view NodeKey::detail() const {
  return name_ == "module" ? "class"
         : name_ == "node" ? "module"
         : name_ == "line" ? "code"
                           : "";
}

RowLabel NodeKey::Of(NodeId node) const {
  return Of(node, model_.tagging().tags[node].module);
}

RowLabel NodeKey::Of(NodeId node, ModuleId module) const {
  const Tagging& tagging = model_.tagging();
  const Model& nodes = model_.model();
  if (name_ == "op") return {std::string(nodes.OpType(node)), ""};
  if (name_ == "node") {
    return {fmt::format("{} {}", nodes.Address(node), nodes[node].name),
            ModuleOf(tagging, node, "-")};
  }
  if (name_ == "line") {
    const std::optional<SourceLine> line = tagging.lines.Of(node);
    if (!line) return {"[no line]", ""};
    return {fmt::format("{}:{}", line->file, line->line),
            std::string(line->text)};
  }
  const Tag& tag = tagging.tags[node];
  if (!tag.tagged() || module == kNo<ModuleId>) {
    return {"[untagged]", "", false};
  }
  if (name_ == "module") {
    return {tagging.modules.Shown(module),
            std::string(ClassOf(tagging, module))};
  }
  if (name_ == "class") {
    const std::string_view name = ClassOf(tagging, module);
    return {name.empty() ? "[class unknown]" : std::string(name), ""};
  }
  const Role& role = tagging.roles[tag.role];
  if (name_ == "layer") {
    return {LayerLabel(tagging.modules.Shown(module), role.layer), ""};
  }
  if (name_ == "role") return {RoleText(role), ""};
  const Datum value = nodes_->Row(node)[column_];
  if (value.IsNull()) return {"[none]", ""};
  const auto* const text = value.As<std::string>();
  return {text != nullptr ? *text : JsonText(value), ""};
}

}  // namespace onnx_tag
