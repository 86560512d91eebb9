#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/tag_summary.h"
#include "commands/read/why_untagged.h"
#include "commands/show/module_table.h"
#include "commands/show/show_view.h"
#include "tagging/module_format.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

// Rows that still make a picture; a deeper look is --depth or --module.
constexpr std::size_t kMostRows = 200;

class ShowText {
 public:
  ShowText(const ShowView& view, const ShowOptions& options, Terminal& terminal)
      : view_(view),
        tagging_(view.tagging),
        coverage_(view.coverage),
        parameters_(view.parameters),
        options_(options),
        terminal_(terminal) {}

  void Print();

 private:
  FoldOptions Folding() const;
  RowNumbers NumbersOf(const std::vector<ModuleId>& modules) const;
  void PrintHeader();
  void PrintRow(const NumberColumns& columns, const FoldedRow& row);
  void PrintNodes(ModuleId module, const std::string& before);
  void PrintTotals();
  void PrintAdvice();
  std::string NameOf(const FoldedRow& row) const;
  std::string ClassText(ModuleId module) const;
  std::string Colored(std::string_view text, std::string_view code) const {
    if (!terminal_.color_out() || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  const ShowView& view_;
  const Tagging& tagging_;
  const Coverage& coverage_;
  const ParameterCounts& parameters_;
  const ShowOptions& options_;
  Terminal& terminal_;
  bool doubtful_ = false;  // a class with a question mark was printed
};

std::string OrUnknown(std::string_view text) {
  return text.empty() ? "unknown" : Printable(text, 100);
}

// A list as the value of a header line, continued below itself before it is
// wider than a terminal.
std::string Wrapped(std::string_view list) {
  constexpr std::size_t kIndent = 14;
  constexpr std::size_t kWidth = 80;
  std::string text;
  std::size_t column = kIndent;
  for (const std::string_view part : Split(list, ',')) {
    const std::string_view item = part.substr(text.empty() ? 0 : 1);
    if (!text.empty()) {
      // The comma stays on the line before.
      const bool fits = column + 2 + item.size() + 1 <= kWidth;
      text += fits ? ", " : ",\n" + std::string(kIndent, ' ');
      column = fits ? column + 2 : kIndent;
    }
    text += item;
    column += item.size();
  }
  return text;
}

// "scope 172, operation 40": what there is, the most common first.
template <std::size_t kCount>
std::string CountsText(const std::array<std::string_view, kCount>& names,
                       const std::array<std::uint64_t, kCount>& counts) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (counts[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return counts[a] > counts[b]; });
  std::string text;
  for (const std::size_t i : order) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", names[i],
                        WithThousands(counts[i]));
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

FoldOptions ShowText::Folding() const {
  FoldOptions folding;
  folding.fold = !options_.unfold && !options_.nodes;
  if (options_.depth) folding.depth = *options_.depth;
  if (options_.depth || !folding.fold) return folding;
  // As deep as it stays a picture.
  std::vector<std::size_t> rows;  // by depth
  for (const ModuleId top : view_.tops) {
    view_.tree.ForEachRow(top, folding, [&](const FoldedRow& row) {
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

RowNumbers ShowText::NumbersOf(const std::vector<ModuleId>& modules) const {
  RowNumbers numbers;
  for (const ModuleId id : modules) {
    numbers.nodes += view_.counts.Total(id);
    numbers.parameters += view_.total_parameters[id];
    if (view_.sizes) numbers.flops += view_.totals[id].flops;
    for (std::size_t level = 0; level < 4; ++level) {
      numbers.by_confidence[level] += view_.counts.ByConfidence(id)[level];
    }
  }
  return numbers;
}

void ShowText::PrintHeader() {
  const SidecarModel& about = view_.model.about();
  const std::string name =
      about.file == "-" ? "standard input" : Printable(about.file);
  const std::string parameters =
      parameters_.all == 0
          ? ""
          : fmt::format(", {}", Count(parameters_.all, "parameter"));
  terminal_.Out(fmt::format("{}: {}{}\n", Colored(name, "1"),
                            Count(coverage_.nodes, "node"), parameters));
  if (view_.sizes && coverage_.nodes > 0) {
    terminal_.Out(fmt::format("  weights     {}\n  FLOPs       {}\n",
                              Wrapped(WeightsText(*view_.sizes)),
                              FlopsText(*view_.sizes)));
  }
  // Tags in a file do not say what they were read from.
  const bool in_file = view_.model.source() == "tags in the file";
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
    terminal_.Out(fmt::format("  evidence    {}\n",
                              CountsText(kSourceNames, coverage_.by_source)));
    terminal_.Out(
        fmt::format("  roles       {}\n",
                    Wrapped(CountsText(kRoleTypeNames, coverage_.by_type))));
  }
  terminal_.Out("\n");
}

std::string ShowText::NameOf(const FoldedRow& row) const {
  if (row.depth > 0) return row.label;
  const ModuleId top = row.modules.front();
  return top == ModuleTree::kRoot ? "<root>"
                                  : Printable(tagging_.modules.Path(top), 200);
}

// A class that others fit as well gets a question mark.
std::string ShowText::ClassText(ModuleId module) const {
  std::string_view name = tagging_.modules.Class(module);
  if (module == ModuleTree::kRoot && name.empty()) name = tagging_.root.name;
  if (name.empty()) return "";
  const bool doubtful = Index(module) < tagging_.facts.size() &&
                        !tagging_.facts[module].candidates.empty();
  return Printable(name, 200) + (doubtful ? "?" : "");
}

void ShowText::PrintRow(const NumberColumns& columns, const FoldedRow& row) {
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

void ShowText::PrintNodes(ModuleId module, const std::string& before) {
  if (!options_.nodes) return;
  const NodeList& nodes = view_.model.nodes();
  for (const NodeId node : view_.nodes.Of(module)) {
    std::string line = before + Printable(nodes.Address(node), 80);
    for (const std::string_view word : {nodes.Op(node), nodes.Name(node)}) {
      if (!word.empty()) line += " " + Printable(word, 200);
    }
    terminal_.Out(line + "\n");
  }
}

void ShowText::PrintTotals() {
  if (!view_.whole()) {
    std::uint64_t shown = 0;
    for (const ModuleId top : view_.tops) shown += view_.counts.Total(top);
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

void ShowText::PrintAdvice() {
  if (2 * PlacedNodes(tagging_) >= coverage_.nodes) return;
  if (tagging_.strategy == "usage_based") {
    terminal_.Out(
        "\nusage_based uses direct evidence only. It also needs a class "
        "outside "
        "torch.nn, or\none of --torch-nn-exceptions, on the path. A model of "
        "plain torch.nn modules can\nget no tags. Use enhanced_semantic for "
        "more tags.\n");
    return;
  }
  // Most nodes may be tagged, and still only the root may be known.
  const std::string share =
      2 * coverage_.tagged < coverage_.nodes
          ? "less than half of the nodes have a module"
          : fmt::format("{} of {} tags only name the root, with low confidence",
                        WithThousands(coverage_.tagged - PlacedNodes(tagging_)),
                        WithThousands(coverage_.tagged));
  const SidecarModel& about = view_.model.about();
  terminal_.Out(fmt::format(
      "\n{}: the names say little about modules\n(dialect {}). {}", share,
      OrUnknown(about.dialect), AdviceFor(about.dialect, about.producer)));
}

void ShowText::Print() {
  PrintHeader();
  RowNumbers all;
  all.nodes = coverage_.nodes;
  all.parameters = parameters_.all;
  if (view_.sizes && FlopsKnown(*view_.sizes)) {
    all.flops = view_.sizes->all.flops;
  }
  const NumberColumns columns(all, terminal_.color_out());
  const FoldOptions folding = Folding();
  terminal_.Out(columns.Header() + "module  class\n");
  for (const ModuleId top : view_.tops) {
    view_.tree.ForEachRow(
        top, folding, [&](const FoldedRow& row) { PrintRow(columns, row); });
  }
  if (view_.whole()) {
    RowNumbers untagged;
    untagged.nodes = coverage_.untagged();
    untagged.parameters = parameters_.unplaced;
    if (view_.sizes) untagged.flops = view_.sizes->untagged.flops;
    terminal_.Out(columns.Row(untagged) + Colored("[untagged]", "33") + "\n");
    PrintNodes(kNo<ModuleId>, columns.Blank() + "  ");
  }
  PrintTotals();
  terminal_.Out(
      fmt::format("sure: {}{}\n", columns.Legend(),
                  doubtful_ ? "; Class?: other classes also fit" : ""));
  if (folding.depth && !options_.depth) {
    terminal_.Out(fmt::format(
        "{} levels are shown; --depth N shows more, --module PATH a part\n",
        *folding.depth));
  }
  PrintAdvice();
}

}  // namespace

ExitCode RunShow(const ShowOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const ShowView view(model, FindTops(model.tagging(), options.module),
                      options.shapes);
  if (options.json) {
    PrintShowJson(view, options, terminal);
  } else {
    ShowText(view, options, terminal).Print();
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
