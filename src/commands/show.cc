#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/glob.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/folded_tree.h"
#include "commands/json_writer.h"
#include "commands/module_counts.h"
#include "commands/module_table.h"
#include "commands/tag_source.h"
#include "commands/tag_summary.h"
#include "onnx_tag/error.h"
#include "tagging/module_format.h"
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

// Rows that still make a picture; a deeper look is --depth or --module.
constexpr std::size_t kMostRows = 200;

class Show {
 public:
  Show(const TaggedModel& model, const ShowOptions& options,
       std::vector<ModuleId> tops, Terminal& terminal)
      : model_(model),
        tagging_(model.tagging()),
        options_(options),
        tops_(std::move(tops)),
        terminal_(terminal),
        coverage_(CountTags(tagging_)),
        counts_(tagging_),
        nodes_(tagging_),
        tree_(tagging_, counts_),
        parameters_(model.parameters()),
        total_parameters_(parameters_.Totals(tagging_.modules)) {}

  void PrintText();
  void PrintJson();

 private:
  bool whole() const { return tops_ == std::vector{ModuleTree::kRoot}; }
  FoldOptions Folding() const;
  RowNumbers NumbersOf(const std::vector<ModuleId>& modules) const;
  void PrintHeader();
  void PrintRow(const NumberColumns& columns, const FoldedRow& row);
  void PrintNodes(ModuleId module, const std::string& before);
  void PrintTotals();
  void PrintAdvice();
  std::string NameOf(const FoldedRow& row) const;
  std::string ClassText(ModuleId module) const;
  void AddHeader(JsonWriter& json) const;
  void AddModule(JsonWriter& json, ModuleId module) const;
  void AddNodes(JsonWriter& json, ModuleId module) const;
  std::string Colored(std::string_view text, std::string_view code) const {
    if (!terminal_.color_out() || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  const TaggedModel& model_;
  const Tagging& tagging_;
  const ShowOptions& options_;
  const std::vector<ModuleId> tops_;
  Terminal& terminal_;
  const Coverage coverage_;
  const ModuleCounts counts_;
  const NodesByModule nodes_;
  const FoldedTree tree_;
  const ParameterCounts parameters_;
  bool doubtful_ = false;  // a class with a question mark was printed
  const IdVector<ModuleId, std::uint64_t> total_parameters_;
};

std::string OrUnknown(std::string_view text) {
  return text.empty() ? "unknown" : Printable(text, 100);
}

// "scope 172, operation 40": the rules that won, the most common first.
std::string SourcesText(const Coverage& coverage) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kSourceNames.size(); ++i) {
    if (coverage.by_source[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return coverage.by_source[a] > coverage.by_source[b];
  });
  std::string text;
  for (const std::size_t i : order) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kSourceNames[i],
                        WithThousands(coverage.by_source[i]));
  }
  return text;
}

// "BertModel (high), or BertEncoder"
std::string RootText(const RootClass& root, bool confidence_known) {
  std::string text = OrUnknown(root.name);
  if (!root.name.empty() && confidence_known) {
    text += fmt::format(" ({})", EnumToWord(kConfidenceNames, root.confidence));
  }
  const std::vector<std::string>& others = root.alternatives;
  for (std::size_t i = 0; i < others.size() && i < 2; ++i) {
    text += ", or " + Printable(others[i], 60);
  }
  if (others.size() > 2) text += fmt::format(", or {} more", others.size() - 2);
  return text;
}

FoldOptions Show::Folding() const {
  FoldOptions folding;
  folding.fold = !options_.unfold && !options_.nodes;
  if (options_.depth) folding.depth = *options_.depth;
  if (options_.depth || !folding.fold) return folding;
  // As deep as it stays a picture.
  std::vector<std::size_t> rows;  // by depth
  for (const ModuleId top : tops_) {
    tree_.ForEachRow(top, folding, [&](const FoldedRow& row) {
      if (rows.size() <= row.depth) rows.resize(row.depth + 1);
      ++rows[row.depth];
    });
  }
  std::size_t all = 0;
  for (std::size_t depth = 0; depth < rows.size(); ++depth) {
    all += rows[depth];
    if (all > kMostRows && depth > 1) {
      folding.depth = depth - 1;
      break;
    }
  }
  return folding;
}

RowNumbers Show::NumbersOf(const std::vector<ModuleId>& modules) const {
  RowNumbers numbers;
  for (const ModuleId id : modules) {
    numbers.nodes += counts_.Total(id);
    numbers.parameters += total_parameters_[id];
    for (std::size_t level = 0; level < 4; ++level) {
      numbers.by_confidence[level] += counts_.ByConfidence(id)[level];
    }
  }
  return numbers;
}

void Show::PrintHeader() {
  const SidecarModel& about = model_.about();
  const std::string name =
      about.file == "-" ? "standard input" : Printable(about.file);
  const std::string parameters =
      parameters_.all == 0
          ? ""
          : fmt::format(", {}", Count(parameters_.all, "parameter"));
  terminal_.Out(fmt::format("{}: {}{}\n", Colored(name, "1"),
                            Count(coverage_.nodes, "node"), parameters));
  // Tags in a file do not say what they were read from.
  const bool in_file = model_.source() == "tags in the file";
  terminal_.Out(
      fmt::format("  root class  {}\n", RootText(tagging_.root, !in_file)));
  terminal_.Out(fmt::format(
      "  producer    {}{}\n", OrUnknown(about.producer),
      about.dialect.empty() ? ""
                            : ", dialect " + Printable(about.dialect, 100)));
  terminal_.Out(fmt::format(
      "  tagged      {} of {} ({}){}{}\n", WithThousands(coverage_.tagged),
      WithThousands(coverage_.nodes),
      PercentText(coverage_.tagged, coverage_.nodes),
      coverage_.tagged == 0 ? "" : ": ", ConfidenceText(coverage_)));
  if (coverage_.tagged > 0) {
    terminal_.Out(fmt::format("  evidence    {}\n", SourcesText(coverage_)));
  }
  terminal_.Out("\n");
}

std::string Show::NameOf(const FoldedRow& row) const {
  if (row.depth > 0) return row.label;
  const ModuleId top = row.modules.front();
  return top == ModuleTree::kRoot ? "<root>"
                                  : Printable(tagging_.modules.Path(top), 200);
}

// A class that others fit as well gets a question mark.
std::string Show::ClassText(ModuleId module) const {
  std::string_view name = tagging_.modules.Class(module);
  if (module == ModuleTree::kRoot && name.empty()) name = tagging_.root.name;
  if (name.empty()) return "";
  const bool doubtful = Index(module) < tagging_.facts.size() &&
                        !tagging_.facts[module].candidates.empty();
  return Printable(name, 200) + (doubtful ? "?" : "");
}

void Show::PrintRow(const NumberColumns& columns, const FoldedRow& row) {
  const std::string class_name = ClassText(row.modules.front());
  doubtful_ |= class_name.ends_with('?');
  std::string line = columns.Row(NumbersOf(row.modules)) + row.branch +
                     NameOf(row) + (class_name.empty() ? "" : "  ") +
                     Colored(class_name, "36");
  if (row.modules.size() > 1) line += fmt::format(" ×{}", row.modules.size());
  terminal_.Out(line + "\n");
  for (const ModuleId id : row.modules) {
    PrintNodes(id, columns.Blank() + row.below + "  ");
  }
}

void Show::PrintNodes(ModuleId module, const std::string& before) {
  if (!options_.nodes) return;
  const NodeList& nodes = model_.nodes();
  for (const NodeId node : nodes_.Of(module)) {
    std::string line = before + Printable(nodes.Address(node), 80);
    for (const std::string_view word : {nodes.Op(node), nodes.Name(node)}) {
      if (!word.empty()) line += " " + Printable(word, 200);
    }
    terminal_.Out(line + "\n");
  }
}

void Show::PrintTotals() {
  if (!whole()) {
    std::uint64_t shown = 0;
    for (const ModuleId top : tops_) shown += counts_.Total(top);
    terminal_.Out(fmt::format("\n{} of {}\n", WithThousands(shown),
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
  if (tagging_.strategy == "usage_based") {
    terminal_.Out(
        "\nusage_based tags what the file says outright, and only below a "
        "class "
        "of the\nmodel's own or one of --torch-nn-exceptions: a model of plain "
        "torch.nn may get\nno tags at all. enhanced_semantic says more.\n");
    return;
  }
  terminal_.Out(fmt::format(
      "\nless than half could be placed: names (dialect {}) say little of "
      "modules.\nTag the file as the exporter wrote it, before optimizers and "
      "quantizers, or\nexport it again: torch.onnx.export of torch >= 2.5 "
      "keeps module names, and\ndynamo=True keeps classes, too.\n",
      OrUnknown(model_.about().dialect)));
}

void Show::PrintText() {
  PrintHeader();
  const NumberColumns columns(coverage_.nodes, parameters_.all,
                              terminal_.color_out());
  const FoldOptions folding = Folding();
  terminal_.Out(columns.Header() + "module  class\n");
  for (const ModuleId top : tops_) {
    tree_.ForEachRow(top, folding,
                     [&](const FoldedRow& row) { PrintRow(columns, row); });
  }
  if (whole()) {
    RowNumbers untagged;
    untagged.nodes = coverage_.untagged();
    untagged.parameters = parameters_.unplaced;
    terminal_.Out(columns.Row(untagged) + Colored("[untagged]", "33") + "\n");
    PrintNodes(kNo<ModuleId>, columns.Blank() + "  ");
  }
  PrintTotals();
  terminal_.Out(fmt::format("sure: {}{}\n", columns.Legend(),
                            doubtful_ ? "; Class?: others fit as well" : ""));
  if (folding.depth && !options_.depth) {
    terminal_.Out(fmt::format(
        "{} levels are shown; --depth N shows more, --module PATH a part\n",
        *folding.depth));
  }
  PrintAdvice();
}

void Show::AddNodes(JsonWriter& json, ModuleId module) const {
  const NodeList& nodes = model_.nodes();
  json.BeginArray();
  for (const NodeId node : nodes_.Of(module)) {
    json.BeginObject();
    json.Key("graph").String(nodes.Graph(node));
    json.Key("index").Number(nodes.IndexOf(node));
    json.Key("name").String(nodes.Name(node));
    json.Key("op").String(nodes.Op(node));
    json.EndObject();
  }
  json.EndArray();
}

template <typename Counts, std::size_t kCount>
void AddCounts(JsonWriter& json, std::string_view key,
               const std::array<std::string_view, kCount>& words,
               const Counts& counts) {
  json.Key(key).BeginObject();
  for (std::size_t i = 0; i < kCount; ++i) {
    if (counts[i] != 0) json.Key(words[i]).Number(counts[i]);
  }
  json.EndObject();
}

void AddList(JsonWriter& json, std::string_view key,
             const std::vector<std::string>& list) {
  json.Key(key).BeginArray();
  for (const std::string& text : list) json.String(text);
  json.EndArray();
}

void Show::AddHeader(JsonWriter& json) const {
  const SidecarModel& about = model_.about();
  json.Key("file").String(about.file);
  json.Key("tags_from").String(model_.source());
  json.Key("nodes").Number(coverage_.nodes);
  json.Key("tagged").Number(coverage_.tagged);
  json.Key("untagged").Number(coverage_.untagged());
  json.Key("coverage").Share(coverage_.share());
  AddCounts(json, "by_confidence", kConfidenceNames, coverage_.by_confidence);
  AddCounts(json, "by_source", kSourceNames, coverage_.by_source);
  AddCounts(json, "by_type", kRoleTypeNames, coverage_.by_type);
  json.Key("parameters").Number(parameters_.all);
  json.Key("unplaced_parameters").Number(parameters_.unplaced);
  json.Key("producer").StringOrNull(about.producer);
  json.Key("dialect").StringOrNull(about.dialect);
  json.Key("root_class").StringOrNull(tagging_.root.name);
  AddList(json, "root_alternatives", tagging_.root.alternatives);
  json.Key("strategy").StringOrNull(tagging_.strategy);
}

void Show::AddModule(JsonWriter& json, ModuleId module) const {
  json.BeginObject();
  json.Key("path").String(tagging_.modules.Path(module));
  json.Key("class").StringOrNull(tagging_.modules.Class(module));
  AddList(json, "candidates",
          Index(module) < tagging_.facts.size()
              ? tagging_.facts[module].candidates
              : std::vector<std::string>());
  json.Key("nodes").Number(counts_.Own(module));
  json.Key("total_nodes").Number(counts_.Total(module));
  json.Key("parameters").Number(parameters_.own[module]);
  json.Key("total_parameters").Number(total_parameters_[module]);
  AddCounts(json, "by_confidence", kConfidenceNames,
            counts_.ByConfidence(module));
  if (options_.nodes) AddNodes(json.Key("node_list"), module);
  json.EndObject();
}

void Show::PrintJson() {
  JsonWriter json;
  json.BeginObject();
  AddHeader(json);
  json.Key("modules").BeginArray();
  FoldOptions folding{false, std::nullopt};
  if (options_.depth) folding.depth = *options_.depth;
  for (const ModuleId top : tops_) {
    tree_.ForEachRow(top, folding, [&](const FoldedRow& row) {
      AddModule(json, row.modules.front());
      terminal_.Out(json.Take());
    });
  }
  json.EndArray();
  if (options_.nodes && whole()) {
    AddNodes(json.Key("untagged_nodes"), kNo<ModuleId>);
  }
  json.EndObject();
  terminal_.Out(json.Take() + "\n");
}

[[noreturn]] void FailOnModule(const ModuleTree& tree,
                               const std::string& path) {
  std::vector<std::string> paths;
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (paths.size() < 10'000) paths.push_back(tree.Path(id));
  }
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  const std::string_view near = NearestWord(path, views);
  if (near.empty()) {
    Fail(ErrorKind::kUsage, "no module '{}'\n  see onnx-tag show MODEL",
         Printable(path));
  }
  Fail(ErrorKind::kUsage, "no module '{}', did you mean '{}'?", Printable(path),
       Printable(near));
}

// The modules whose subtrees to show: one, or those a pattern fits.
std::vector<ModuleId> FindTops(const Tagging& tagging,
                               const std::string& path) {
  if (path.empty() || path == "<root>") return {ModuleTree::kRoot};
  const ModuleTree& tree = tagging.modules;
  const ModuleId id = tree.Find(path);
  if (id != kNo<ModuleId>) return {id};
  std::vector<ModuleId> tops;
  std::vector<char> inside(tree.size());  // below one that fits
  for (std::size_t i = 1; HasWildcards(path) && i < tree.size(); ++i) {
    const ModuleId module = MakeId<ModuleId>(i);
    inside[i] = inside[Index(tree.Parent(module))];
    if (inside[i] || !MatchesPattern(path, tree.Path(module), '.')) continue;
    inside[i] = 1;
    tops.push_back(module);
  }
  if (tops.empty()) FailOnModule(tree, path);
  return tops;
}

}  // namespace

ExitCode RunShow(const ShowOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  Show show(model, options, FindTops(model.tagging(), options.module),
            terminal);
  if (options.json) {
    show.PrintJson();
  } else {
    show.PrintText();
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
