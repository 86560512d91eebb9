#include "commands/read/node_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

// The further modules of a fused node.
std::vector<std::string> OriginsOf(const Tagging& tagging, NodeId node) {
  std::vector<std::string> paths;
  auto at = std::lower_bound(
      tagging.origins.begin(), tagging.origins.end(), node,
      [](const Origin& origin, NodeId id) { return origin.node < id; });
  for (; at != tagging.origins.end() && at->node == node; ++at) {
    paths.push_back(tagging.modules.Path(at->module));
  }
  return paths;
}

std::string LayerText(const Role& role) {
  return role.layer < 0 ? "" : std::to_string(role.layer);
}

}  // namespace

void AddTagJson(JsonWriter& json, const Tagging& tagging,
                const ModuleFormat& format, const Tag& tag) {
  if (!tag.tagged()) {
    for (const std::string_view key :
         {"module", "class", "hierarchy_tag", "tag_module", "role_path",
          "semantic", "confidence", "source"}) {
      json.Key(key).Null();
    }
    return;
  }
  const Role& role = tagging.roles[tag.role];
  json.Key("module").String(tagging.modules.Path(tag.module));
  json.Key("class").StringOrNull(tagging.modules.Class(tag.module));
  json.Key("hierarchy_tag").String(format.HierarchyTag(tag));
  json.Key("tag_module")
      .String(tagging.modules.Path(format.TagModule(tag.module)));
  json.Key("role_path").String(format.RolePath(tag.module));
  json.Key("semantic").BeginObject();
  json.Key("type").String(EnumToWord(kRoleTypeNames, role.type));
  json.Key("component").StringOrNull(role.component);
  json.Key("attention_kind")
      .StringOrNull(EnumToWord(kAttentionKindNames, role.attention_kind));
  json.Key("layer");
  if (role.layer < 0) {
    json.Null();
  } else {
    json.Number(static_cast<std::uint64_t>(role.layer));
  }
  json.EndObject();
  json.Key("confidence").String(EnumToWord(kConfidenceNames, tag.confidence));
  json.Key("source").String(EnumToWord(kSourceNames, tag.source));
}

void NodeRows::AddJson(JsonWriter& json, NodeId node) const {
  const Tagging& tagging = model_.tagging();
  const NodeList& nodes = model_.nodes();
  const Tag& tag = tagging.tags[node];
  json.BeginObject();
  json.Key("graph").String(nodes.Graph(node));
  json.Key("index").Number(nodes.IndexOf(node));
  json.Key("name").String(nodes.Name(node));
  json.Key("op").String(nodes.Op(node));
  json.Key("domain").String(nodes.Domain(node));
  AddTagJson(json, tagging, format_, tag);
  json.Key("origins").BeginArray();
  for (const std::string& path : OriginsOf(tagging, node)) json.String(path);
  json.EndArray();
  json.EndObject();
}

std::string NodeRows::TsvHeader() {
  return "graph\tindex\tname\top\tdomain\tmodule\tclass\thierarchy_tag\t"
         "role_path\ttype\tcomponent\tattention\tlayer\tconfidence\tsource\t"
         "origins\n";
}

std::string NodeRows::TsvLine(NodeId node) const {
  const Tagging& tagging = model_.tagging();
  const NodeList& nodes = model_.nodes();
  const Tag& tag = tagging.tags[node];
  std::array<std::string, 10> said;
  // As in all text: the root is <root>, no module is -.
  said[0] = "-";
  if (tag.tagged()) {
    const Role& role = tagging.roles[tag.role];
    const std::string path = tagging.modules.Path(tag.module);
    said = {path.empty() ? "<root>" : path,
            std::string(tagging.modules.Class(tag.module)),
            format_.HierarchyTag(tag),
            format_.RolePath(tag.module),
            std::string(EnumToWord(kRoleTypeNames, role.type)),
            role.component,
            std::string(EnumToWord(kAttentionKindNames, role.attention_kind)),
            LayerText(role),
            std::string(EnumToWord(kConfidenceNames, tag.confidence)),
            std::string(EnumToWord(kSourceNames, tag.source))};
  }
  const auto safe = [](std::string_view text) {
    return Printable(text, text.size());
  };
  std::string line = fmt::format(
      "{}\t{}\t{}\t{}\t{}", safe(nodes.Graph(node)), nodes.IndexOf(node),
      safe(nodes.Name(node)), safe(nodes.Op(node)), safe(nodes.Domain(node)));
  for (const std::string& field : said) line += "\t" + safe(field);
  std::string origins;
  for (const std::string& path : OriginsOf(tagging, node)) {
    origins += (origins.empty() ? "" : " ") + safe(path);
  }
  return line + "\t" + origins + "\n";
}

}  // namespace onnx_tag
