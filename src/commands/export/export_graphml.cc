#include <fmt/core.h>

#include "base/text.h"
#include "commands/export/graph_formats.h"
#include "commands/read/module_counts.h"
#include "commands/read/xml_text.h"
#include "tagging/module_format.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

void AddData(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  out += fmt::format("<data key=\"{}\">{}</data>", key,
                     XmlText(value, value.size()));
}

constexpr std::string_view kHead =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
)";

// What a node may say of itself, and of which type.
constexpr std::string_view kStringKeys[] = {
    "kind", "label", "op",   "domain",    "graph",     "module",     "class",
    "tag",  "role",  "type", "component", "attention", "confidence", "source"};
constexpr std::string_view kIntegerKeys[] = {"index", "layer", "nodes",
                                             "total_nodes", "parameters"};

class GraphmlWriter {
 public:
  GraphmlWriter(const TaggedModel& model, const Write& write)
      : model_(model),
        tagging_(model.tagging()),
        write_(write),
        format_(model.tagging()) {}

  void Run() {
    write_(kHead);
    for (const std::string_view key : kStringKeys) WriteKey(key, "string");
    for (const std::string_view key : kIntegerKeys) WriteKey(key, "long");
    write_(
        "<key id=\"edge\" for=\"edge\" attr.name=\"kind\" "
        "attr.type=\"string\"/>\n<graph id=\"G\" edgedefault=\"directed\">\n");
    Modules();
    for (const NodeId node : model_.nodes().All()) Node(node);
    Edges();
    write_("</graph>\n</graphml>\n");
  }

 private:
  void WriteKey(std::string_view key, std::string_view type) {
    write_(
        fmt::format("<key id=\"{0}\" for=\"node\" attr.name=\"{0}\" "
                    "attr.type=\"{1}\"/>\n",
                    key, type));
  }

  void Modules() {
    const ModuleCounts counts(tagging_);
    const ParameterCounts parameters = model_.parameters();
    const ModuleTree& tree = tagging_.modules;
    for (const ModuleId id : tree.All()) {
      std::string out = fmt::format("<node id=\"m{}\">", Index(id));
      const std::string path = tree.Path(id);
      AddData(out, "kind", "module");
      AddData(out, "label", path.empty() ? "<root>" : tree.Atom(id));
      AddData(out, "module", path);
      AddData(out, "class", tree.Class(id));
      AddData(out, "tag", format_.HierarchyTag(id));
      AddData(out, "role", format_.RolePath(id));
      AddData(out, "nodes", std::to_string(counts.Own(id)));
      AddData(out, "total_nodes", std::to_string(counts.Total(id)));
      AddData(out, "parameters", std::to_string(parameters.own[id]));
      write_(out + "</node>\n");
    }
  }

  void Node(NodeId node) {
    const NodeList& nodes = model_.nodes();
    const Tag& tag = tagging_.tags[node];
    std::string out = fmt::format("<node id=\"n{}\">", Index(node));
    AddData(out, "kind", "node");
    AddData(out, "label", nodes.Name(node));
    AddData(out, "op", nodes.Op(node));
    AddData(out, "domain", nodes.Domain(node));
    AddData(out, "graph", nodes.Graph(node));
    AddData(out, "index", std::to_string(nodes.IndexOf(node)));
    if (tag.tagged()) {
      const Role& role = tagging_.roles[tag.role];
      AddData(out, "module", tagging_.modules.Path(tag.module));
      AddData(out, "class", tagging_.modules.Class(tag.module));
      AddData(out, "tag", format_.HierarchyTag(tag.module));
      AddData(out, "role", format_.RolePath(tag.module));
      AddData(out, "type", EnumToWord(kRoleTypeNames, role.type));
      AddData(out, "component", role.component);
      AddData(out, "attention",
              EnumToWord(kAttentionKindNames, role.attention_kind));
      if (role.layer >= 0) AddData(out, "layer", std::to_string(role.layer));
      AddData(out, "confidence", EnumToWord(kConfidenceNames, tag.confidence));
      AddData(out, "source", EnumToWord(kSourceNames, tag.source));
    }
    write_(out + "</node>\n");
  }

  void Edge(std::string_view kind, const std::string& from,
            const std::string& to) {
    write_(
        fmt::format("<edge source=\"{}\" target=\"{}\"><data "
                    "key=\"edge\">{}</data></edge>\n",
                    from, to, kind));
  }

  void Edges() {
    const ModuleTree& tree = tagging_.modules;
    for (const ModuleId id : tree.All()) {
      if (id == ModuleTree::kRoot) continue;
      Edge("contains", fmt::format("m{}", Index(tree.Parent(id))),
           fmt::format("m{}", Index(id)));
    }
    for (const NodeId node : model_.nodes().All()) {
      const Tag& tag = tagging_.tags[node];
      if (!tag.tagged()) continue;
      Edge("contains", fmt::format("m{}", Index(tag.module)),
           fmt::format("n{}", Index(node)));
    }
    for (const auto& [from, to] : DataEdges(model_.nodes())) {
      Edge("data", fmt::format("n{}", Index(from)),
           fmt::format("n{}", Index(to)));
    }
  }

  const TaggedModel& model_;
  const Tagging& tagging_;
  const Write& write_;
  const ModuleFormat format_;
};

}  // namespace

void WriteGraphml(const TaggedModel& model, const Write& write) {
  GraphmlWriter(model, write).Run();
}

}  // namespace onnx_tag
