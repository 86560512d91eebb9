#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/model_sizes.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/show/memory_view.h"
#include "app/commands/show/size_range.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"
#include "uses/sizes/formula_text.h"

namespace onnx_tag {
namespace {

// Rows that still make a picture; a deeper look is --depth or --module.
constexpr std::size_t kMostRows = 200;

// The nodes of each module, in file order.
class NodesByModule {
 public:
  explicit NodesByModule(const Tagging& tagging) : tags_(tagging.tags) {
    for (const NodeId node : AllIds<NodeId>(tags_.size())) {
      nodes_.push_back(node);
    }
    std::stable_sort(nodes_.begin(), nodes_.end(), [&](NodeId a, NodeId b) {
      return tags_[a].module < tags_[b].module;
    });
  }
  // kNo: the untagged ones.
  std::span<const NodeId> Of(ModuleId module) const {
    const auto first = std::partition_point(
        nodes_.begin(), nodes_.end(),
        [&](NodeId node) { return tags_[node].module < module; });
    const auto last = std::partition_point(
        first, nodes_.end(),
        [&](NodeId node) { return tags_[node].module == module; });
    return std::span(nodes_).subspan(
        static_cast<std::size_t>(first - nodes_.begin()),
        static_cast<std::size_t>(last - first));
  }

 private:
  const IdVector<NodeId, Tag>& tags_;
  std::vector<NodeId> nodes_;
};

// What there is to show.
struct View {
  View(const ShowOptions& asked, Terminal& terminal)
      : options(asked),
        model(TaggedModel::Load(asked.model, asked.source, terminal)),
        tagging(model.tagging()),
        tops(FindModules(tagging.modules, asked.module, asked.model)),
        coverage(CountTags(tagging)),
        counts(tagging),
        nodes(tagging),
        tree(tagging, counts),
        parameters(model.parameters()),
        total_parameters(parameters.Totals(tagging.modules)),
        costs(CostsOf(model, asked.shapes)),
        sizes(costs ? &costs->sizes : nullptr) {
    if (sizes == nullptr) return;
    totals = sizes->Totals(tagging.modules);
    if (asked.by == ShowBy::kMemory) memory.emplace(model, *costs);
  }

  bool whole() const { return tops == std::vector{ModuleTree::kRoot}; }

  const ShowOptions options;
  const TaggedModel model;
  const Tagging& tagging;
  const std::vector<ModuleId> tops;  // of the subtrees to show
  const Coverage coverage;
  const ModuleCounts counts;
  const NodesByModule nodes;
  const FoldedTree tree;
  const ParameterCounts parameters;
  const IdVector<ModuleId, std::uint64_t> total_parameters;
  const std::unique_ptr<ModelCosts> costs;  // null for a sidecar
  const sizes::ModelSizes* const sizes;     // likewise
  std::optional<MemoryView> memory;         // with --by memory
  IdVector<ModuleId, sizes::Sums> totals;   // of a module and its submodules
};

// ---------------------------------------------------------------- the header
std::string OrUnknown(std::string_view text) {
  return Message("{}", text.empty() ? "unknown" : text);
}

// A list as the value of a header line, continued below itself before it is
// wider than a terminal.
std::string Wrapped(std::string_view list) {
  constexpr std::size_t kIndent = 14;
  constexpr std::size_t kWidth = 80;
  std::string text;
  std::size_t column = kIndent;
  while (!list.empty()) {
    // A comma alone is inside a number: 1,000.
    const std::size_t end = std::min(list.find(", "), list.size());
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 2, list.size()));
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
  std::vector<std::string> words;
  for (const std::size_t i : order) {
    words.push_back(fmt::format("{} {}", names[i], WithThousands(counts[i])));
  }
  return Join(words);
}

// "BertModel (high), or BertEncoder"
std::string RootText(const RootClass& root, bool confidence_known) {
  std::string text = OrUnknown(root.name);
  if (!root.name.empty() && confidence_known) {
    text += fmt::format(" ({})", EnumToWord(kConfidenceNames, root.confidence));
  }
  const std::vector<std::string>& others = root.alternatives;
  for (std::size_t i = 0; i < others.size() && i < 2; ++i) {
    text += Message(", or {}", Short{others[i], 60});
  }
  if (others.size() > 2) text += fmt::format(", or {} more", others.size() - 2);
  return text;
}

void AddHeader(const View& view, Result& result) {
  const SidecarModel& about = view.model.about();
  const Coverage& coverage = view.coverage;
  result.Line("{}: {}{}", Ours{Emphasized(ShownInput(about.file))},
              Count(coverage.nodes, "node"),
              view.parameters.all == 0
                  ? ""
                  : ", " + Count(view.parameters.all, "parameter"));
  if (view.costs && coverage.nodes > 0) {
    result.Line("  weights     {}\n  FLOPs       {}",
                Ours{Wrapped(WeightsText(*view.sizes))},
                FlopsText(*view.sizes));
    const std::string formula =
        FlopsKnown(*view.sizes)
            ? FormulaText(*view.costs, view.costs->formulas.all.flops)
            : "";
    if (!formula.empty()) result.Line("              = {}", Ours{formula});
  }
  if (view.memory) view.memory->AddHeader(result);
  result.Line("  root class  {}",
              RootText(view.tagging.root, !view.tagging.facts.empty()));
  result.Line("  producer    {}{}", OrUnknown(about.producer),
              about.dialect.empty() ? "" : ", dialect " + about.dialect);
  result.Line("  tagged      {} of {} ({}){}{}", WithThousands(coverage.tagged),
              WithThousands(coverage.nodes),
              PercentText(coverage.tagged, coverage.nodes),
              coverage.tagged == 0 ? "" : ": ",
              coverage.tagged == 0 ? "" : SureText(coverage));
  if (coverage.tagged > 0) {
    result.Line("  confidence  {}", ConfidenceText(coverage));
    result.Line("  evidence    {}",
                CountsText(kSourceNames, coverage.by_source));
    result.Line("  roles       {}",
                Ours{Wrapped(CountsText(kRoleTypeNames, coverage.by_type))});
  }
  result.Line("");
}

// ---------------------------------------------------------------- the tree
struct Numbers {
  std::uint64_t nodes = 0;
  Datum::Levels by_confidence = {};
  std::uint64_t parameters = 0;
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;  // the most, not the sum

  std::uint64_t Of(ShowBy by) const {
    return by == ShowBy::kFlops        ? flops
           : by == ShowBy::kMemory     ? memory
           : by == ShowBy::kParameters ? parameters
           : by == ShowBy::kBytes      ? bytes
                                       : nodes;
  }
};

Numbers NumbersOf(const View& view, const std::vector<ModuleId>& modules) {
  Numbers numbers;
  for (const ModuleId id : modules) {
    numbers.nodes += view.counts.Total(id);
    numbers.parameters += view.total_parameters[id];
    if (view.sizes != nullptr) {
      numbers.flops =
          std::min(sizes::kOver, numbers.flops + view.totals[id].flops);
      numbers.bytes += view.totals[id].bytes;
      if (view.memory) {
        numbers.memory = std::max(numbers.memory, view.memory->PeakOf(id));
      }
    }
    for (std::size_t level = 0; level < 4; ++level) {
      numbers.by_confidence[level] += view.counts.ByConfidence(id)[level];
    }
  }
  return numbers;
}

bool HasOtherClasses(const Tagging& tagging, ModuleId module) {
  const ModuleFacts* const facts = tagging.FactsOf(module);
  return facts != nullptr && !facts->candidates.empty() &&
         !ClassOf(tagging, module).empty();
}

// How deep the tree is shown, and whether a class in it has a question mark.
struct Extent {
  FoldOptions folding;
  bool cut = false;  // to stay a picture
  bool doubtful = false;
};

Extent FindExtent(const View& view) {
  Extent extent;
  extent.folding.fold = !view.options.unfold && !view.options.nodes;
  if (view.options.depth) extent.folding.depth = *view.options.depth;
  struct Level {
    std::size_t rows = 0;
    bool doubtful = false;
  };
  std::vector<Level> levels;
  for (const ModuleId top : view.tops) {
    view.tree.ForEachRow(top, extent.folding, [&](const FoldedRow& row) {
      if (levels.size() <= row.depth) levels.resize(row.depth + 1);
      ++levels[row.depth].rows;
      levels[row.depth].doubtful |=
          HasOtherClasses(view.tagging, row.modules.front());
    });
  }
  std::size_t all = 0;
  for (std::size_t depth = 0; depth < levels.size(); ++depth) {
    all += levels[depth].rows;
    if (all > kMostRows && depth > 1 && extent.folding.fold &&
        !view.options.depth) {
      extent.folding.depth = depth - 1;
      extent.cut = true;
      break;
    }
    extent.doubtful |= levels[depth].doubtful;
  }
  return extent;
}

class TreeTable {
 public:
  TreeTable(std::shared_ptr<const View> view, const FoldOptions& folding)
      : view_(std::move(view)), folding_(folding) {
    all_.nodes = view_->coverage.nodes;
    all_.parameters = view_->parameters.all;
    if (view_->sizes != nullptr) {
      all_.bytes = view_->sizes->all.bytes;
      if (view_->memory) all_.memory = view_->memory->peak();
      if (FlopsKnown(*view_->sizes) || view_->options.by == ShowBy::kFlops) {
        all_.flops = view_->sizes->all.flops;
      }
    }
  }

  Table Make() const {
    if (IsByOne()) return MakeByOne();
    const std::size_t digits = std::to_string(all_.nodes).size();
    Table table{{Right("nodes", std::max<std::size_t>(digits, 5))}, {}, {}};
    if (HasShare()) table.columns.push_back(Right("share", 7));
    if (all_.parameters > 0) table.columns.push_back(Right("params", 8));
    if (all_.flops > 0) table.columns.push_back(Right("FLOPs", 8));
    table.columns.push_back({.heading = "sure", .width = 8});
    table.columns.push_back(
        {.heading = "module", .ragged = true, .longest = std::string::npos});
    table.columns.push_back({.heading = "class", .ragged = true});
    table.more = [self = *this](const Table::Use& use) { self.Rows(use); };
    return table;
  }

 private:
  static Column Right(std::string heading, std::size_t width) {
    return {.heading = std::move(heading), .right = true, .width = width};
  }

  bool IsByOne() const { return view_->options.by != ShowBy::kAll; }

  // Numbers, shares and formulas of one measure.
  Table MakeByOne() const {
    Table table{
        {Right(std::string(EnumToWord(kShowByNames, view_->options.by)), 12),
         Right("share", 8),
         {.heading = "module", .ragged = true, .longest = std::string::npos},
         {.heading = "class", .ragged = true}},
        {},
        {}};
    if (view_->options.by == ShowBy::kMemory) {
      table.columns.insert(table.columns.begin() + 2, Right("weights", 10));
    }
    if (view_->options.by == ShowBy::kFlops) {
      table.columns.push_back({.heading = "formula", .longest = 400});
    }
    table.more = [self = *this](const Table::Use& use) { self.Rows(use); };
    return table;
  }

  std::string NumberText(std::uint64_t number) const {
    if (number >= sizes::kOver) return "over 2^63";
    return view_->options.by == ShowBy::kBytes ||
                   view_->options.by == ShowBy::kMemory
               ? BytesText(number)
               : Compact(number);
  }

  // Of a row's modules together.
  std::string FormulaOf(const std::vector<ModuleId>& modules) const {
    if (view_->options.by != ShowBy::kFlops || !view_->costs) return "";
    sizes::FormulaSum sum(view_->costs->shapes.formulas());
    for (const ModuleId id : modules) {
      sum.Add(id == kNo<ModuleId> ? view_->costs->formulas.untagged.flops
                                  : view_->costs->formulas.totals[id].flops);
    }
    return FormulaText(*view_->costs, sum.Total());
  }

  // Where the shares of parameters and FLOPs are known, that of nodes says
  // little.
  bool HasShare() const { return all_.parameters == 0 || all_.flops == 0; }

  void Rows(const Table::Use& use) const {
    for (const ModuleId top : view_->tops) {
      view_->tree.ForEachRow(top, folding_, [&](const FoldedRow& row) {
        Module(row, use);
        for (const ModuleId id : row.modules) {
          Nodes(id, row.below + "  ", use);
        }
      });
    }
    if (!view_->whole()) return;
    Numbers untagged;
    untagged.nodes = view_->coverage.untagged();
    untagged.parameters = view_->parameters.unplaced;
    if (view_->sizes != nullptr) {
      untagged.flops = view_->sizes->untagged.flops;
      untagged.bytes = view_->sizes->untagged.bytes;
      if (view_->memory) {
        untagged.memory = view_->memory->PeakOf(kNo<ModuleId>);
      }
    }
    use(Row(untagged, {Datum("[untagged]").Colored("33"), "",
                       FormulaOf({kNo<ModuleId>})}));
    Nodes(kNo<ModuleId>, "  ", use);
  }

  void Module(const FoldedRow& row, const Table::Use& use) const {
    const ModuleId module = row.modules.front();
    std::string label =
        row.depth > 0
            ? row.label
            : Message("{}", Short{view_->tagging.modules.Shown(module), 200});
    // A class that others fit as well gets a question mark.
    std::string name(ClassOf(view_->tagging, module));
    if (HasOtherClasses(view_->tagging, module)) name += '?';
    if (row.modules.size() > 1) {
      (name.empty() ? label : name) += fmt::format(" ×{}", row.modules.size());
    }
    const std::string_view mark = FoundMark(view_->tagging, row);
    name += name.empty() && !mark.empty() ? mark.substr(1) : mark;
    use(Row(NumbersOf(*view_, row.modules),
            {row.branch + label, Datum(name).Colored("36"),
             FormulaOf(row.modules)}));
  }

  void Nodes(ModuleId module, const std::string& before,
             const Table::Use& use) const {
    if (!view_->options.nodes) return;
    const Model& nodes = view_->model.model();
    for (const NodeId node : view_->nodes.Of(module)) {
      std::string line = before + Message("{}", nodes.Address(node));
      for (const std::string_view word :
           {nodes.OpType(node), nodes[node].name}) {
        if (!word.empty()) line += Message(" {}", Short{word, 200});
      }
      Table::Row row(IsByOne() ? (view_->memory ? 3u : 2u)
                               : 1u + (HasShare() ? 1u : 0u) +
                                     (all_.parameters > 0 ? 1u : 0u) +
                                     (all_.flops > 0 ? 1u : 0u));
      if (!IsByOne()) row.emplace_back(Datum::Levels{});
      row.emplace_back(std::move(line));
      if (view_->options.by == ShowBy::kFlops && view_->costs) {
        const sizes::Dim flops = view_->sizes->flops[node];
        row[0] =
            flops.IsNumber() && flops.number() >= 0
                ? NumberText(static_cast<std::uint64_t>(flops.number()))
                : sizes::FormulaText(view_->costs->shapes.formulas(), flops);
        row.emplace_back("");
        row.emplace_back(
            FormulaText(*view_->costs, view_->costs->shapes.Flops(node)));
      }
      use(row);
    }
  }

  // `names`: the module, its class, the formula.
  Table::Row Row(const Numbers& numbers, Table::Row names) const {
    if (IsByOne()) {
      const ShowBy by = view_->options.by;
      Table::Row row = {NumberText(numbers.Of(by)),
                        ShareText(numbers.Of(by), all_.Of(by))};
      if (by == ShowBy::kMemory) row.emplace_back(BytesText(numbers.bytes));
      row.insert(row.end(), names.begin(), names.end());
      return row;
    }
    names.resize(2);
    Table::Row row = {numbers.nodes};
    if (HasShare()) row.emplace_back(ShareText(numbers.nodes, all_.nodes));
    const auto share = [&](std::uint64_t part, std::uint64_t whole) {
      if (whole == 0) return;
      row.push_back(part == 0 ? Datum() : Datum(ShareText(part, whole)));
    };
    share(numbers.parameters, all_.parameters);
    share(numbers.flops, all_.flops);
    row.emplace_back(numbers.by_confidence);
    row.insert(row.end(), names.begin(), names.end());
    return row;
  }

  // "12.5%", "-" of nothing.
  static std::string ShareText(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) /
                                      static_cast<double>(whole));
  }

  std::shared_ptr<const View> view_;
  FoldOptions folding_;
  Numbers all_;
};

// ---------------------------------------------------------------- the rest
void AddTotals(const View& view, Result& result) {
  const Coverage& coverage = view.coverage;
  if (view.whole()) {
    result.Line("\n{}: {} tagged ({}) + {} untagged",
                Count(coverage.nodes, "node"), WithThousands(coverage.tagged),
                PercentText(coverage.tagged, coverage.nodes),
                WithThousands(coverage.untagged()));
    return;
  }
  std::uint64_t shown = 0;
  for (const ModuleId top : view.tops) shown += view.counts.Total(top);
  result.Line("\n{} of {}", WithThousands(shown),
              Count(coverage.nodes, "node"));
}

// Nodes that the root got for want of anything better are covered, but
// nobody would say that they were found.
std::uint64_t PlacedNodes(const Tagging& tagging) {
  return static_cast<std::uint64_t>(std::count_if(
      tagging.tags.begin(), tagging.tags.end(), [](const Tag& tag) {
        return tag.tagged() && tag.source != Source::kStructure &&
               (tag.module != ModuleTree::kRoot ||
                tag.confidence > Confidence::kLow);
      }));
}

void AddAdvice(const View& view, Result& result) {
  const Coverage& coverage = view.coverage;
  if (!view.tagging.found.empty()) {
    result.Line(
        "\n{} found in the graph alone: the names are invented.",
        view.tagging.found.size() == 1
            ? "1 module is"
            : WithThousands(view.tagging.found.size()) + " modules are");
  }
  const std::uint64_t placed = PlacedNodes(view.tagging);
  if (2 * placed >= coverage.nodes) return;
  if (view.tagging.strategy == "usage_based") {
    result.Line(
        "\nusage_based uses direct evidence only. It also needs a class "
        "outside torch.nn, or\none of --torch-nn-exceptions, on the path. A "
        "model of plain torch.nn modules can\nget no tags. Use "
        "enhanced_semantic for more tags.");
    return;
  }
  // Most nodes may be tagged, and still only the root may be known.
  const std::string share =
      2 * (coverage.tagged - coverage.found()) < coverage.nodes
          ? "less than half of the nodes have evidence of a module"
          : fmt::format(
                "{} of {} tags only name the root, with low confidence",
                WithThousands(coverage.tagged - coverage.found() - placed),
                WithThousands(coverage.tagged));
  const SidecarModel& about = view.model.about();
  result.Line("\n{}: the names say little about modules\n(dialect {}). {}",
              share, OrUnknown(about.dialect),
              Ours{AdviceFor(about.dialect, about.producer)});
}

// ---------------------------------------------------------------- for programs
Datum NodesValue(const View& view, ModuleId module) {
  Datum::List list;
  for (const NodeId node : view.nodes.Of(module)) {
    Datum value = NodeValue(view.model.model(), node);
    if (view.costs) {
      const sizes::Formulas& formulas = view.costs->shapes.formulas();
      const auto number = [&](sizes::Dim dim) {
        const sizes::Dim size = view.costs->assumptions.numbers()(dim);
        return size.IsNumber() ? Datum(size.number()) : Datum();
      };
      const sizes::Dim flops = view.costs->shapes.Flops(node);
      const sizes::Dim written = view.costs->shapes.Written(node);
      value.Add(
          {{"flops", number(flops)},
           {"flops_formula", FormulaValue(formulas, flops)},
           {"activation_bytes", number(written)},
           {"activation_bytes_formula", FormulaValue(formulas, written)}});
    }
    list.push_back(std::move(value));
  }
  return list;
}

Datum ModuleValue(const View& view, ModuleId module) {
  const Tagging& tagging = view.tagging;
  const ModuleFacts* const facts = tagging.FactsOf(module);
  Datum object =
      Datum::Object({{"path", tagging.modules.Path(module)},
                     {"class", Datum::OrNull(tagging.modules.Class(module))},
                     {"candidates", facts != nullptr ? Datum(facts->candidates)
                                                     : Datum(Datum::List())},
                     {"nodes", view.counts.Own(module)},
                     {"total_nodes", view.counts.Total(module)},
                     {"parameters", view.parameters.own[module]},
                     {"total_parameters", view.total_parameters[module]}});
  if (const FoundBlock* const block = tagging.FindFound(module)) {
    object.Set("found", true);
    if (!block->description.empty()) {
      object.Set("description", block->description);
    }
  }
  if (view.costs) {
    const sizes::Formulas& formulas = view.costs->shapes.formulas();
    const sizes::Sums& own = view.sizes->own[module];
    const sizes::Sums& total = view.totals[module];
    const sizes::FormulaSums& own_formula = view.costs->formulas.own[module];
    const sizes::FormulaSums& formula = view.costs->formulas.totals[module];
    object.Add({{"bytes", own.bytes},
                {"total_bytes", total.bytes},
                {"flops", own.flops},
                {"flops_formula", FormulaValue(formulas, own_formula.flops)},
                {"total_flops", total.flops},
                {"total_flops_formula", FormulaValue(formulas, formula.flops)},
                {"total_unknown_flops", total.unknown_flops},
                {"activation_bytes", own.written},
                {"activation_bytes_formula",
                 FormulaValue(formulas, own_formula.written)},
                {"total_activation_bytes", total.written},
                {"total_activation_bytes_formula",
                 FormulaValue(formulas, formula.written)}});
    if (view.memory) {
      object.Set("peak_memory", view.memory->PeakOf(module));
    }
  }
  object.Set("by_confidence",
             CountsValue(kConfidenceNames, view.counts.ByConfidence(module)));
  if (view.options.nodes) object.Set("node_list", NodesValue(view, module));
  return object;
}

Datum Data(const std::shared_ptr<const View>& view) {
  const SidecarModel& about = view->model.about();
  const RootClass& root = view->tagging.root;
  Datum data = Datum::Object(
      {{"file", about.file}, {"tags_from", view->model.source()}});
  data.Add(CoverageMembers(view->coverage));
  data.Add({{"by_type", CountsValue(kRoleTypeNames, view->coverage.by_type)},
            {"parameters", view->parameters.all},
            {"unplaced_parameters", view->parameters.unplaced}});
  data.Add(SizeMembers(view->sizes));
  if (view->costs) {
    const sizes::Formulas& formulas = view->costs->shapes.formulas();
    const sizes::FormulaSums& all = view->costs->formulas.all;
    data.Add({{"flops_formula", FormulaValue(formulas, all.flops)},
              {"activation_bytes", view->sizes->all.written},
              {"activation_bytes_formula", FormulaValue(formulas, all.written)},
              {"dimensions", DimensionsValue(*view->costs)}});
    if (view->memory) data.Set("memory", view->memory->Data());
  }
  data.Add({{"producer", Datum::OrNull(about.producer)},
            {"dialect", Datum::OrNull(about.dialect)},
            {"root_class", Datum::OrNull(root.name)},
            {"root_confidence", Datum::OrNull(root.ConfidenceName())},
            {"root_alternatives", root.alternatives},
            {"strategy", Datum::OrNull(view->tagging.strategy)},
            {"modules", Datum::Stream([view](const Datum::Use& use) {
               FoldOptions all{false, std::nullopt};
               if (view->options.depth) all.depth = *view->options.depth;
               for (const ModuleId top : view->tops) {
                 view->tree.ForEachRow(top, all, [&](const FoldedRow& row) {
                   use(ModuleValue(*view, row.modules.front()));
                 });
               }
             })}});
  if (view->options.nodes && view->whole()) {
    data.Set("untagged_nodes", NodesValue(*view, kNo<ModuleId>));
  }
  return data;
}

// The modules for --tsv: each with what is below it.
Table ModuleRows(const std::shared_ptr<const View>& view) {
  Table table{{{.heading = "module"},
               {.heading = "class"},
               {.heading = "nodes"},
               {.heading = "parameters"},
               {.heading = "bytes"},
               {.heading = "flops"},
               {.heading = "activation_bytes"},
               {.heading = "flops_formula"}},
              {},
              {}};
  table.more = [view](const Table::Use& use) {
    FoldOptions all{false, std::nullopt};
    if (view->options.depth) all.depth = *view->options.depth;
    for (const ModuleId top : view->tops) {
      view->tree.ForEachRow(top, all, [&](const FoldedRow& row) {
        const ModuleId id = row.modules.front();
        Table::Row cells = {Datum::Module(view->tagging.modules.Path(id)),
                            Datum::OrNull(ClassOf(view->tagging, id)),
                            view->counts.Total(id), view->total_parameters[id]};
        if (view->costs) {
          const sizes::Sums& total = view->totals[id];
          cells.insert(
              cells.end(),
              {total.bytes, total.flops, total.written,
               sizes::FormulaText(view->costs->shapes.formulas(),
                                  view->costs->formulas.totals[id].flops)});
        }
        use(cells);
      });
    }
  };
  return table;
}

bool HasRange(const ShowOptions& options) {
  return std::any_of(options.shapes.begin(), options.shapes.end(),
                     [](const auto& shape) { return shape.last != 0; });
}

}  // namespace

Result RunShow(const ShowOptions& options, Terminal& terminal) {
  const auto view = std::make_shared<const View>(options, terminal);
  const Extent extent = FindExtent(*view);
  Result result;
  if (HasRange(options)) {
    if (!view->costs) {
      Fail(ErrorKind::kUsage,
           "{}: a sidecar has no shapes: --shape needs the model",
           options.model);
    }
    const SizeRange range(view->model, view->tree, extent.folding, *view->costs,
                          options.shapes);
    range.AddText(result);
    result.rows.push_back(range.Rows());
    result.data = Data(view);
    result.data.Set("range", range.Data());
    return result;
  }
  result.rows.push_back(ModuleRows(view));
  AddHeader(*view, result);
  result.Add(TreeTable(view, extent.folding).Make());
  AddTotals(*view, result);
  if (options.by == ShowBy::kAll) {
    result.Line("sure: █ certain  ▓ high  ▒ medium  ░ low{}",
                extent.doubtful ? "; Class?: other classes also fit" : "");
  } else if (extent.doubtful) {
    result.Line("Class?: other classes also fit");
  }
  if (extent.cut) {
    result.Line(
        "{} levels are shown; --depth N shows more, --module PATH a part",
        *extent.folding.depth);
  }
  if (view->memory) view->memory->AddPeak(result);
  AddAdvice(*view, result);
  result.data = Data(view);
  return result;
}

}  // namespace onnx_tag
