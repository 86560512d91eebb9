#include <fmt/core.h>

#include "base/text.h"
#include "commands/export/graph_formats.h"
#include "commands/read/module_counts.h"

namespace onnx_tag {
namespace {

// A quoted string; backslashes would start one of DOT's own escapes.
std::string DotText(std::string_view text) {
  std::string result = "\"";
  for (const char c : Printable(text, text.size())) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

class DotWriter {
 public:
  DotWriter(const TaggedModel& model, const Write& write)
      : model_(model),
        tagging_(model.tagging()),
        write_(write),
        counts_(model.tagging()),
        of_module_(model.tagging().modules.size()) {}

  void Run() {
    for (const NodeId node : model_.nodes().All()) {
      const Tag& tag = tagging_.tags[node];
      if (tag.tagged()) of_module_[Index(tag.module)].push_back(node);
    }
    write_(fmt::format(
        "digraph {} {{\n  rankdir=TB;\n  node [shape=box, style=rounded];\n",
        DotText(model_.about().file)));
    Clusters();
    for (const NodeId node : model_.nodes().All()) {
      if (!tagging_.tags[node].tagged()) Node(node, "color=gray, ");
    }
    for (const auto& [from, to] : DataEdges(model_.nodes())) {
      write_(fmt::format("  n{} -> n{};\n", Index(from), Index(to)));
    }
    write_("}\n");
  }

 private:
  void Node(NodeId node, std::string_view style) {
    write_(fmt::format("  n{} [{}label={}, tooltip={}];\n", Index(node), style,
                       DotText(model_.nodes().Op(node)),
                       DotText(model_.nodes().Name(node))));
  }

  void Open(ModuleId id) {
    const ModuleTree& tree = tagging_.modules;
    if (id != ModuleTree::kRoot) {
      std::string label(tree.Atom(id));
      if (!tree.Class(id).empty()) {
        label += " (" + std::string(tree.Class(id)) + ")";
      }
      write_(fmt::format("  subgraph cluster_{} {{\n  label={};\n", Index(id),
                         DotText(label)));
    }
    for (const NodeId node : of_module_[Index(id)]) Node(node, "");
  }

  // Without recursion: a hostile tree is deeper than the stack.
  void Clusters() {
    const ModuleTree& tree = tagging_.modules;
    struct Level {
      std::vector<ModuleId> children;
      std::size_t next = 0;
    };
    const auto level_of = [&](ModuleId id) {
      Level level;
      for (const ModuleId child : tree.Children(id)) {
        if (counts_.Total(child) > 0) level.children.push_back(child);
      }
      return level;
    };
    Open(ModuleTree::kRoot);
    std::vector<Level> levels = {level_of(ModuleTree::kRoot)};
    while (!levels.empty()) {
      Level& level = levels.back();
      if (level.next == level.children.size()) {
        levels.pop_back();
        if (!levels.empty()) write_("  }\n");
        continue;
      }
      const ModuleId id = level.children[level.next++];
      Open(id);
      levels.push_back(level_of(id));
    }
  }

  const TaggedModel& model_;
  const Tagging& tagging_;
  const Write& write_;
  const ModuleCounts counts_;
  std::vector<std::vector<NodeId>> of_module_;
};

}  // namespace

void WriteDot(const TaggedModel& model, const Write& write) {
  DotWriter(model, write).Run();
}

}  // namespace onnx_tag
