#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/model_sizes.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/rollup.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/show/memory_view.h"
#include "app/render/render.h"
#include "core/hierarchy/roll_up.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag {
namespace {

// Rows that still make a picture; a deeper look is --depth or --module.
constexpr std::size_t kMostRows = 200;

// What is added up.
struct Amounts {
  Amounts& operator+=(const Amounts& other) {
    nodes += other.nodes;
    sums += other.sums;
    peak = std::max(peak, other.peak);  // they run one after another
    for (std::size_t i = 0; i < levels.size(); ++i)
      levels[i] += other.levels[i];
    return *this;
  }

  std::uint64_t nodes = 0;
  sizes::Sums sums;  // 0 without a model, but for parameters
  std::uint64_t peak = 0;
  Datum::Levels levels = {};
};

// What `--measure` knows: a row for each.
struct Measure {
  std::string_view name;
  Unit unit;
  std::uint64_t (*of)(const Amounts&);
};
constexpr Measure kMeasureRows[] = {
    {"nodes", Unit::kPlain, [](const Amounts& a) { return a.nodes; }},
    {"flops", Unit::kPlain, [](const Amounts& a) { return a.sums.flops; }},
    {"parameters", Unit::kPlain,
     [](const Amounts& a) { return a.sums.parameters; }},
    {"bytes", Unit::kBytes, [](const Amounts& a) { return a.sums.bytes; }},
    {"memory", Unit::kBytes, [](const Amounts& a) { return a.peak; }},
    {"activations", Unit::kBytes,
     [](const Amounts& a) { return a.sums.written; }},
};

constexpr std::span<const Measure> kMeasures(kMeasureRows);

// What there is to show.
struct View {
  View(const ShowOptions& asked, Terminal& terminal)
      : options(asked),
        model(TaggedModel::Load(asked, terminal)),
        tagging(model.tagging()),
        key(model, asked.by),
        tops(FindModules(tagging.modules, asked.module, asked.model)),
        coverage(CountTags(tagging)),
        counts(tagging),
        tree(tagging, counts),
        parameters(model.parameters()),
        costs(CostsOf(model, asked.shapes)),
        sizes(costs ? &costs->sizes : nullptr) {
    for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
      if (asked.nodes) nodes[tagging.tags[node].module].push_back(node);
    }
    if (costs && asked.measure == "memory") {
      memory.emplace(model, *costs);
    }
    AddAmounts();
  }

  // Of each module, then with all below it.
  void AddAmounts() {
    own.resize(tagging.modules.size());
    for (const ModuleId id : AllIds<ModuleId>(own.size())) {
      if (sizes != nullptr) own[id].sums = sizes->own[id];
      own[id].sums.parameters = parameters.own[id];
      own[id].nodes = counts.Own(id);
    }
    if (sizes != nullptr) untagged.sums = sizes->untagged;
    untagged.sums.parameters = parameters.unplaced;
    untagged.nodes = coverage.untagged();
    for (const Tag& tag : tagging.tags) {
      if (tag.tagged()) ++own[tag.module].levels[Index(tag.confidence)];
    }
    if (memory) {
      memory->ForEachStep([&](NodeId node, std::uint64_t bytes) {
        const Tag& tag = tagging.tags[node];
        Amounts& amounts = tag.tagged() ? own[tag.module] : untagged;
        amounts.peak = std::max(amounts.peak, bytes);
      });
    }
    totals = own;
    RollUp(tagging.modules, totals);
    all = untagged;
    all += totals[ModuleTree::kRoot];
  }

  bool whole() const { return tops == std::vector{ModuleTree::kRoot}; }
  // Of a sidecar, only modules have parameters.
  bool HasParameters() const {
    return parameters.all > 0 && (costs || key.is_tree());
  }
  bool HasFlops() const { return all.sums.flops > 0 && FlopsKnown(*sizes); }

  const ShowOptions options;
  const TaggedModel model;
  const Tagging& tagging;
  const NodeKey key;
  const std::vector<ModuleId> tops;  // of the subtrees to show
  const Coverage coverage;
  const ModuleCounts counts;
  const FoldedTree tree;
  const ParameterCounts parameters;
  const std::unique_ptr<ModelCosts> costs;  // null for a sidecar
  const sizes::ModelSizes* const sizes;     // likewise
  std::optional<MemoryView> memory;         // with --measure memory
  IdVector<ModuleId, Amounts> own;
  IdVector<ModuleId, Amounts> totals;  // of a module and its submodules
  Amounts untagged;                    // of what no module has
  Amounts all;
  // With --nodes: those of each module, in file order; kNo: the untagged ones.
  std::map<ModuleId, std::vector<NodeId>> nodes;
};

std::vector<NodeId> NodesOf(const View& view, ModuleId module) {
  const auto at = view.nodes.find(module);
  return at == view.nodes.end() ? std::vector<NodeId>() : at->second;
}

// ---------------------------------------------------------------- the header
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
  return Join(Mapped(order, [&](std::size_t i) {
    return fmt::format("{} {}", names[i], WithThousands(counts[i]));
  }));
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
  std::string tagged =
      fmt::format("{} of {} ({})", WithThousands(coverage.tagged),
                  WithThousands(coverage.nodes),
                  PercentText(coverage.tagged, coverage.nodes));
  if (coverage.tagged > 0) {
    tagged += ": " + TagCountsText(coverage, true);
  }
  result.Line("  tagged      {}", Ours{Wrapped(tagged)});
  if (coverage.tagged > 0) {
    result.Line("  confidence  {}", ConfidenceText(coverage));
    result.Line("  evidence    {}",
                CountsText(kSourceNames, coverage.by_source));
    result.Line("  roles       {}",
                Ours{Wrapped(CountsText(kRoleTypeNames, coverage.by_type))});
  }
  result.Line("");
}

// ---------------------------------------------------------------- the numbers
const Measure& MeasureOf(std::string_view name) {
  return *FindNamed(kMeasures, name);
}

// ---------------------------------------------------------------- the tree
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
  extent.folding = {!view.options.unfold && !view.options.nodes,
                    view.options.depth};
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

// A row: modules, the untagged nodes, one node of those, or a label.
struct ShownRow {
  Amounts amounts = {};
  Datum label = {};
  std::string class_name = {};
  std::vector<ModuleId> modules = {};  // kNo: the untagged nodes
  NodeId node = kNo<NodeId>;

  bool is_node() const { return node != kNo<NodeId>; }
};

Datum ShareOf(const View& view, std::string_view measure, const ShownRow& row) {
  const Measure& of = MeasureOf(measure);
  if (row.is_node()) return "";
  if (of.of(view.all) == 0) return "-";
  return Datum::Share(100.0 * static_cast<double>(of.of(row.amounts)) /
                      static_cast<double>(of.of(view.all)));
}

// Of a node its FLOPs alone.
std::string NumberText(const View& view, std::string_view measure,
                       const ShownRow& row) {
  const Measure& of = MeasureOf(measure);
  if (!row.is_node()) return AmountText(of.of(row.amounts), of.unit);
  if (measure != "flops" || !view.costs) return "";
  const sizes::Dim flops = view.sizes->flops[row.node];
  return flops.IsNumber() && flops.number() >= 0
             ? AmountText(static_cast<std::uint64_t>(flops.number()), of.unit)
             : sizes::FormulaText(view.costs->shapes.formulas(), flops);
}

std::string FormulaOf(const View& view, const ShownRow& row) {
  if (!view.costs) return "";
  if (row.is_node()) {
    return FormulaText(*view.costs, view.costs->shapes.Flops(row.node));
  }
  sizes::FormulaSum sum(view.costs->shapes.formulas());
  for (const ModuleId id : row.modules) {
    sum.Add(id == kNo<ModuleId> ? view.costs->formulas.untagged.flops
                                : view.costs->formulas.totals[id].flops);
  }
  return FormulaText(*view.costs, sum.Total());
}

// What people see of a row: a little of each measure, or one in detail.
Facts TextFacts(const View& view, const ShownRow& row) {
  Facts facts;
  const auto add = [&](std::string_view heading, std::size_t width,
                       Datum value) {
    facts.push_back(
        {NumberColumn("", heading, width, Unit::kPercent), std::move(value)});
  };
  const std::string_view measure = view.options.measure;
  const bool tree = view.key.is_tree();
  if (measure.empty()) {
    const auto part = [&](std::string_view of) {
      return MeasureOf(of).of(row.amounts) == 0 ? Datum()
                                                : ShareOf(view, of, row);
    };
    const std::size_t digits = std::to_string(view.coverage.nodes).size();
    const bool parameters = view.HasParameters();
    const bool flops = view.HasFlops();
    add("nodes", std::max<std::size_t>(digits, 5),
        row.is_node() ? Datum() : row.amounts.nodes);
    // Where the shares of parameters and FLOPs are known, that of nodes says
    // little.
    if (!parameters || !flops) {
      add("share", 9, ShareOf(view, "nodes", row));
    }
    if (parameters) add("params", 8, part("parameters"));
    if (flops) add("FLOPs", 9, part("flops"));
    facts.push_back({{.heading = "level", .width = 8}, row.amounts.levels});
  } else {
    add(measure, 12, NumberText(view, measure, row));
    add("share", 9, ShareOf(view, measure, row));
    if (measure == "memory") {
      add("weights", 10, NumberText(view, "bytes", row));
    }
  }
  facts.push_back({{.heading = view.key.name(),
                    .ragged = true,
                    .longest = tree ? std::string::npos : 70},
                   row.label});
  facts.push_back({{.heading = std::string(view.key.detail()), .ragged = true},
                   Datum(row.class_name).Colored("36")});
  if (measure == "flops" && tree) {
    facts.push_back(
        {{.heading = "formula", .longest = 400}, FormulaOf(view, row)});
  }
  return facts;
}

// The modules of a row, with their class.
ShownRow ShownModules(const View& view, const FoldedRow& row) {
  const ModuleId module = row.modules.front();
  std::string label =
      row.depth > 0
          ? row.label
          : Message("{}", Short{view.tagging.modules.Shown(module), 200});
  // A class that others fit as well gets a question mark.
  std::string name(ClassOf(view.tagging, module));
  if (HasOtherClasses(view.tagging, module)) name += '?';
  if (row.modules.size() > 1) {
    (name.empty() ? label : name) += fmt::format(" ×{}", row.modules.size());
  }
  const std::string_view mark = FoundMark(view.tagging, row);
  name += name.empty() && !mark.empty() ? mark.substr(1) : mark;
  Amounts amounts;
  for (const ModuleId id : row.modules) amounts += view.totals[id];
  return {amounts, row.branch + label, name, row.modules};
}

Table TreeTable(const std::shared_ptr<const View>& view,
                const FoldOptions& folding) {
  Table table{ColumnsOf(TextFacts(*view, {})), {}, {}};
  table.more = [view, folding](const Table::Use& use) {
    const auto add = [&](const ShownRow& row) {
      use(CellsOf(TextFacts(*view, row)));
    };
    const auto nodes = [&](ModuleId module, const std::string& before) {
      const Model& model = view->model.model();
      for (const NodeId node : NodesOf(*view, module)) {
        add({{}, before + NodeText(model, node, 200), "", {}, node});
      }
    };
    for (const ModuleId top : view->tops) {
      view->tree.ForEachRow(top, folding, [&](const FoldedRow& row) {
        add(ShownModules(*view, row));
        for (const ModuleId id : row.modules) nodes(id, row.below + "  ");
      });
    }
    if (!view->whole()) return;
    add({view->untagged,
         Datum("[untagged]").Colored("33"),
         "",
         {kNo<ModuleId>}});
    nodes(kNo<ModuleId>, "  ");
  };
  return table;
}

// ---------------------------------------------------------------- other keys
using ShowRollup = Rollup<Amounts>;

// The rows of a key that is no tree, the largest first.
std::vector<ShowRollup::Row> RowsByKey(const View& view) {
  ShowRollup sums;
  const Model& model = view.model.model();
  for (const NodeId node : model.Nodes()) {
    Amounts& amounts = sums[view.key.Of(node)];
    const Tag& tag = view.tagging.tags[node];
    ++amounts.nodes;
    if (tag.tagged()) ++amounts.levels[Index(tag.confidence)];
  }
  if (view.costs) {
    sizes::ForEachCost(
        model, view.tagging, view.costs->shapes, view.costs->assumptions,
        view.sizes->weights, [&](const sizes::Cost& cost) {
          const RowLabel label = cost.node == kNo<NodeId>
                                     ? RowLabel{"[no node]", "", false}
                                     : view.key.Of(cost.node, cost.module);
          sums[label].sums += cost.sums;
        });
  }
  if (view.memory) {
    view.memory->ForEachStep([&](NodeId node, std::uint64_t bytes) {
      std::uint64_t& peak = sums[view.key.Of(node)].peak;
      peak = std::max(peak, bytes);
    });
  }
  std::vector<ShowRollup::Row> rows = sums.Take();
  const Measure& measure =
      MeasureOf(!view.options.measure.empty() ? view.options.measure
                : view.HasFlops()             ? "flops"
                                              : "nodes");
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    return measure.of(a.amounts) > measure.of(b.amounts);
  });
  return rows;
}

void AddRows(const View& view, const std::vector<ShowRollup::Row>& rows,
             Result& result) {
  const std::span shown(rows.data(), std::min(rows.size(), kMostRows));
  result.Add(TableOf(shown, [&](const ShowRollup::Row& row) {
    Datum label = row.label.name;
    if (!row.label.placed) label = std::move(label).Colored("33");
    return TextFacts(view, {row.amounts, label, row.label.detail});
  }));
  if (rows.size() > shown.size()) {
    result.Line("\nand {} more; --json lists all",
                Count(rows.size() - shown.size(), "row"));
  }
}

Facts RowFacts(const View& view, const ShowRollup::Row& row) {
  Facts facts = {{{"name", view.key.name()}, row.label.name},
                 {{"placed", "", For::kJson}, row.label.placed},
                 {{"nodes", "nodes"}, row.amounts.nodes}};
  if (!view.key.detail().empty()) {
    facts.push_back({{std::string(view.key.detail()), "", For::kJson},
                     Datum::OrNull(row.label.detail)});
  }
  if (view.costs) {
    const sizes::Sums& sums = row.amounts.sums;
    facts.push_back({{"parameters", "parameters"}, sums.parameters});
    facts.push_back({{"bytes", "bytes"}, sums.bytes});
    facts.push_back({{"flops", "flops"}, sums.flops});
    facts.push_back({{"unknown_flops", "unknown_flops"}, sums.unknown_flops});
    facts.push_back({{"activation_bytes", "activation_bytes"}, sums.written});
  }
  if (view.memory) {
    facts.push_back({{"peak_memory", "peak_memory"}, row.amounts.peak});
  }
  facts.push_back({{"by_confidence", "", For::kJson},
                   CountsValue(kConfidenceNames, row.amounts.levels)});
  return facts;
}

// ---------------------------------------------------------------- the rest
void AddTotals(const View& view, Result& result) {
  const Coverage& coverage = view.coverage;
  if (view.whole()) {
    result.Line("\n{}: {} tagged + {} untagged", Count(coverage.nodes, "node"),
                WithThousands(coverage.tagged),
                WithThousands(coverage.untagged()));
    return;
  }
  std::uint64_t shown = 0;
  for (const ModuleId top : view.tops) shown += view.counts.Total(top);
  result.Line("\n{} of {}", WithThousands(shown),
              Count(coverage.nodes, "node"));
}

// ---------------------------------------------------------------- for programs
Datum NodesValue(const View& view, ModuleId module) {
  return ListOf(NodesOf(view, module), [&](NodeId node) {
    Datum value = NodeValue(view.model.model(), node);
    if (!view.costs) return value;
    const sizes::Formulas& formulas = view.costs->shapes.formulas();
    const auto add = [&](const std::string& key, sizes::Dim dim) {
      const sizes::Dim size = view.costs->assumptions.numbers()(dim);
      value.Set(key, size.IsNumber() ? Datum(size.number()) : Datum());
      value.Set(key + "_formula", FormulaValue(formulas, dim));
    };
    add("flops", view.costs->shapes.Flops(node));
    add("activation_bytes", view.costs->shapes.Written(node));
    return value;
  });
}

// All that programs get of a module: what is its own, and with all below it.
// Keys are for JSON, headings for TSV.
Facts ModuleFactsOf(const View& view, ModuleId id) {
  const Tagging& tagging = view.tagging;
  Facts facts;
  const auto add = [&](const char* key, const char* heading, Datum value) {
    facts.push_back({{key, heading, *heading == 0 ? For::kJson : For::kAll},
                     std::move(value)});
  };
  add("path", "module", Datum::Module(tagging.modules.Path(id)));
  add("class", "", Datum::OrNull(tagging.modules.Class(id)));
  add("", "class", Datum::OrNull(ClassOf(tagging, id)));
  const ModuleFacts* const known = tagging.FactsOf(id);
  add("candidates", "",
      known != nullptr ? known->candidates : std::vector<std::string>());
  const Amounts& here = view.own[id];
  const Amounts& below = view.totals[id];
  add("nodes", "", here.nodes);
  add("total_nodes", "nodes", below.nodes);
  add("parameters", "", here.sums.parameters);
  add("total_parameters", "parameters", below.sums.parameters);
  if (const FoundBlock* const block = tagging.FindFound(id)) {
    add("found", "", true);
    if (!block->description.empty()) add("description", "", block->description);
  }
  if (view.costs) {
    const sizes::Formulas& formulas = view.costs->shapes.formulas();
    const sizes::Sums& own = here.sums;
    const sizes::Sums& total = below.sums;
    const sizes::FormulaSums& own_formula = view.costs->formulas.own[id];
    const sizes::FormulaSums& formula = view.costs->formulas.totals[id];
    add("bytes", "", own.bytes);
    add("total_bytes", "bytes", total.bytes);
    add("flops", "", own.flops);
    add("flops_formula", "", FormulaValue(formulas, own_formula.flops));
    add("total_flops", "flops", total.flops);
    add("total_flops_formula", "", FormulaValue(formulas, formula.flops));
    add("total_unknown_flops", "", total.unknown_flops);
    add("activation_bytes", "", own.written);
    add("activation_bytes_formula", "",
        FormulaValue(formulas, own_formula.written));
    add("total_activation_bytes", "activation_bytes", total.written);
    add("total_activation_bytes_formula", "",
        FormulaValue(formulas, formula.written));
    add("", "flops_formula", sizes::FormulaText(formulas, formula.flops));
  }
  if (view.memory) add("peak_memory", "", below.peak);
  add("by_confidence", "", CountsValue(kConfidenceNames, below.levels));
  if (view.options.nodes) add("node_list", "", NodesValue(view, id));
  return facts;
}

// Calls `use` with the facts of each module.
void ForEachModule(const View& view,
                   const std::function<void(const Facts&)>& use) {
  const FoldOptions all{false, view.options.depth};
  for (const ModuleId top : view.tops) {
    view.tree.ForEachRow(top, all, [&](const FoldedRow& row) {
      use(ModuleFactsOf(view, row.modules.front()));
    });
  }
}

Datum Data(const std::shared_ptr<const View>& view,
           const std::vector<ShowRollup::Row>& rows) {
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
            {"strategy", Datum::OrNull(view->tagging.strategy)}});
  if (!view->key.is_tree()) {
    data.Set("by", view->key.name());
    data.Set("rows", ObjectsOf(rows, [&](const ShowRollup::Row& row) {
               return RowFacts(*view, row);
             }));
    return data;
  }
  data.Add({{"modules", Datum::Stream([view](const Datum::Use& use) {
               ForEachModule(*view,
                             [&](const Facts& facts) { use(ObjectOf(facts)); });
             })}});
  if (view->options.nodes && view->whole()) {
    data.Set("untagged_nodes", NodesValue(*view, kNo<ModuleId>));
  }
  return data;
}

}  // namespace

std::vector<std::string_view> ShowMeasureNames() { return NamesOf(kMeasures); }

Result RunShow(const ShowOptions& options, Terminal& terminal) {
  const auto view = std::make_shared<const View>(options, terminal);
  const bool tree = view->key.is_tree();
  const Extent extent = tree ? FindExtent(*view) : Extent();
  const std::vector<ShowRollup::Row> rows =
      tree ? std::vector<ShowRollup::Row>() : RowsByKey(*view);
  Result result;
  AddHeader(*view, result);
  if (tree) {
    result.rows.push_back({ColumnsOf(ModuleFactsOf(*view, ModuleTree::kRoot)),
                           {},
                           [view](const Table::Use& use) {
                             ForEachModule(*view, [&](const Facts& facts) {
                               use(CellsOf(facts));
                             });
                           }});
    result.Add(TreeTable(view, extent.folding));
  } else {
    result.rows.push_back(TableOf(rows, [&](const ShowRollup::Row& row) {
      return RowFacts(*view, row);
    }));
    AddRows(*view, rows, result);
  }
  AddTotals(*view, result);
  if (options.measure.empty()) {
    result.Line("level: █ certain  ▓ high  ▒ medium  ░ low{}",
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
  AddAdvice(view->tagging, view->coverage, view->model.about(), result);
  result.data = Data(view, rows);
  return result;
}

}  // namespace onnx_tag
