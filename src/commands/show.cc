#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/json_writer.h"
#include "commands/module_counts.h"
#include "commands/module_table.h"
#include "commands/tag_source.h"
#include "commands/tag_summary.h"
#include "onnx_tag/error.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

// The nodes of each module, in file order.
class NodesByModule {
 public:
  explicit NodesByModule(const Tagging& tagging) {
    for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
      nodes_.push_back(node);
    }
    std::stable_sort(nodes_.begin(), nodes_.end(), [&](NodeId a, NodeId b) {
      return tagging.tags[a].module < tagging.tags[b].module;
    });
    tagging_ = &tagging;
  }
  // kNo: the untagged ones.
  std::span<const NodeId> Of(ModuleId module) const {
    const auto [first, last] = std::equal_range(nodes_.begin(), nodes_.end(),
                                                module, Less{&tagging_->tags});
    return std::span(nodes_).subspan(
        static_cast<std::size_t>(first - nodes_.begin()),
        static_cast<std::size_t>(last - first));
  }

 private:
  struct Less {
    const IdVector<NodeId, Tag>* tags;
    bool operator()(NodeId node, ModuleId module) const {
      return (*tags)[node].module < module;
    }
    bool operator()(ModuleId module, NodeId node) const {
      return module < (*tags)[node].module;
    }
  };
  std::vector<NodeId> nodes_;
  const Tagging* tagging_;
};

class Show {
 public:
  Show(const TaggedModel& model, const ShowOptions& options, ModuleId top,
       Terminal& terminal)
      : model_(model),
        tagging_(model.tagging()),
        options_(options),
        top_(top),
        terminal_(terminal),
        coverage_(CountTags(tagging_)),
        counts_(tagging_),
        nodes_(tagging_) {}

  void PrintText();
  void PrintJson();

 private:
  void PrintHeader();
  void PrintNodes(ModuleId module, const std::string& before);
  void PrintTotals();
  void PrintAdvice();
  void AddNodes(JsonWriter& json, ModuleId module) const;
  std::string Colored(std::string_view text, std::string_view code) const {
    if (!terminal_.color_out() || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  const TaggedModel& model_;
  const Tagging& tagging_;
  const ShowOptions& options_;
  const ModuleId top_;
  Terminal& terminal_;
  const Coverage coverage_;
  const ModuleCounts counts_;
  const NodesByModule nodes_;
};

std::string OrUnknown(std::string_view text) {
  return text.empty() ? "unknown" : Printable(text, 100);
}

void Show::PrintHeader() {
  const SidecarModel& about = model_.about();
  // Tags in a file do not say what dialect they were read from.
  const std::string dialect =
      about.dialect.empty() ? "" : ", dialect " + Printable(about.dialect, 100);
  terminal_.Out(
      fmt::format("{}: {}\n  producer {}{}, root class {}\n\n",
                  about.file == "-" ? "standard input" : Printable(about.file),
                  Count(coverage_.nodes, "node"), OrUnknown(about.producer),
                  dialect, OrUnknown(tagging_.root.name)));
}

void Show::PrintNodes(ModuleId module, const std::string& before) {
  if (!options_.nodes) return;
  for (const NodeId node : nodes_.Of(module)) {
    const NodeList& nodes = model_.nodes();
    std::string line =
        fmt::format("{}{}#{}", before, Printable(nodes.Graph(node), 60),
                    nodes.IndexOf(node));
    for (const std::string_view word : {nodes.Op(node), nodes.Name(node)}) {
      if (!word.empty()) line += " " + Printable(word, 200);
    }
    terminal_.Out(line + "\n");
  }
}

void Show::PrintTotals() {
  if (top_ != ModuleTree::kRoot) {
    terminal_.Out(fmt::format("\n{} of {}\n",
                              WithThousands(counts_.Total(top_)),
                              Count(coverage_.nodes, "node")));
    return;
  }
  terminal_.Out(fmt::format("\n{}: {} tagged ({}) + {} untagged\n",
                            Count(coverage_.nodes, "node"),
                            WithThousands(coverage_.tagged),
                            PercentText(coverage_.tagged, coverage_.nodes),
                            WithThousands(coverage_.untagged())));
}

// Nodes that the root got for want of anything better are covered, but
// nobody would say that they were found.
std::uint64_t PlacedNodes(const Tagging& tagging) {
  return static_cast<std::uint64_t>(std::count_if(
      tagging.tags.begin(), tagging.tags.end(), [](const Tag& tag) {
        return tag.tagged() && (tag.module != ModuleTree::kRoot ||
                                tag.confidence > Confidence::kLow);
      }));
}

void Show::PrintAdvice() {
  if (2 * PlacedNodes(tagging_) >= coverage_.nodes) return;
  terminal_.Out(fmt::format(
      "\nless than half could be placed: names (dialect {}) say little of "
      "modules.\nTag the file as the exporter wrote it, before optimizers and "
      "quantizers, or\nexport it again: torch.onnx.export of torch >= 2.5 "
      "keeps module names, and\ndynamo=True keeps classes, too.\n",
      OrUnknown(model_.about().dialect)));
}

void Show::PrintText() {
  PrintHeader();
  const NumberColumns columns(coverage_.nodes);
  terminal_.Out(columns.Header() + "module  class\n");
  ForEachModuleRow(
      tagging_, counts_, top_, options_.depth, [&](const ModuleRow& row) {
        std::string name =
            row.module == top_
                ? Printable(tagging_.modules.Path(top_), 200)
                : Printable(tagging_.modules.Atom(row.module), 200);
        if (row.module == ModuleTree::kRoot) name = "<root>";
        std::string_view class_name = tagging_.modules.Class(row.module);
        if (row.module == ModuleTree::kRoot && class_name.empty()) {
          class_name = tagging_.root.name;
        }
        terminal_.Out(columns.Module(counts_, row.module, coverage_.nodes) +
                      row.branch + name + (class_name.empty() ? "" : "  ") +
                      Colored(Printable(class_name, 200), "36") + "\n");
        PrintNodes(row.module, columns.Blank() + row.below + "  ");
      });
  if (top_ == ModuleTree::kRoot) {
    terminal_.Out(columns.Untagged(coverage_.untagged(), coverage_.nodes) +
                  Colored("[untagged]", "33") + "\n");
    PrintNodes(kNo<ModuleId>, columns.Blank() + "  ");
  }
  PrintTotals();
  PrintAdvice();
}

void Show::AddNodes(JsonWriter& json, ModuleId module) const {
  json.BeginArray();
  for (const NodeId node : nodes_.Of(module)) {
    const NodeList& nodes = model_.nodes();
    json.BeginObject();
    json.Key("graph").String(nodes.Graph(node));
    json.Key("index").Number(nodes.IndexOf(node));
    json.Key("name").String(nodes.Name(node));
    json.Key("op").String(nodes.Op(node));
    json.EndObject();
  }
  json.EndArray();
}

void Show::PrintJson() {
  const SidecarModel& about = model_.about();
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(about.file);
  json.Key("tags_from").String(model_.source());
  json.Key("nodes").Number(coverage_.nodes);
  json.Key("tagged").Number(coverage_.tagged);
  json.Key("untagged").Number(coverage_.untagged());
  json.Key("coverage").Share(coverage_.share());
  json.Key("producer").StringOrNull(about.producer);
  json.Key("dialect").StringOrNull(about.dialect);
  json.Key("root_class").StringOrNull(tagging_.root.name);
  json.Key("strategy").StringOrNull(tagging_.strategy);
  json.Key("modules").BeginArray();
  ForEachModuleRow(
      tagging_, counts_, top_, options_.depth, [&](const ModuleRow& row) {
        json.BeginObject();
        json.Key("path").String(tagging_.modules.Path(row.module));
        json.Key("class").StringOrNull(tagging_.modules.Class(row.module));
        json.Key("nodes").Number(counts_.Own(row.module));
        json.Key("total_nodes").Number(counts_.Total(row.module));
        json.Key("by_confidence").BeginObject();
        for (std::size_t i = 0; i < kConfidenceNames.size(); ++i) {
          const std::uint64_t count = counts_.ByConfidence(row.module)[i];
          if (count != 0) json.Key(kConfidenceNames[i]).Number(count);
        }
        json.EndObject();
        if (options_.nodes) AddNodes(json.Key("node_list"), row.module);
        json.EndObject();
        terminal_.Out(json.Take());
      });
  json.EndArray();
  if (options_.nodes && top_ == ModuleTree::kRoot) {
    AddNodes(json.Key("untagged_nodes"), kNo<ModuleId>);
  }
  json.EndObject();
  terminal_.Out(json.Take() + "\n");
}

ModuleId FindTop(const Tagging& tagging, const std::string& path) {
  if (path.empty() || path == "<root>") return ModuleTree::kRoot;
  const ModuleId id = tagging.modules.Find(path);
  if (id == kNo<ModuleId>) {
    Fail(ErrorKind::kUsage, "no module '{}'\n  see onnx-tag show MODEL",
         Printable(path));
  }
  return id;
}

}  // namespace

ExitCode RunShow(const ShowOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const ModuleId top = FindTop(model.tagging(), options.module);
  Show show(model, options, top, terminal);
  if (options.json) {
    show.PrintJson();
  } else {
    show.PrintText();
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
