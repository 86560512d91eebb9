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
#include "app/commands/read/tagged_model.h"
#include "app/commands/show/memory_view.h"
#include "app/render/render.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag {
namespace {

// Rows that still make a picture; a deeper look is --depth or --module.
constexpr std::size_t kMostRows = 200;

// What there is to show.
struct View {
  View(const ShowOptions& asked, Terminal& terminal)
      : options(asked),
        model(TaggedModel::Load(asked, terminal)),
        tagging(model.tagging()),
        tops(FindModules(tagging.modules, asked.module, asked.model)),
        coverage(CountTags(tagging)),
        counts(tagging),
        tree(tagging, counts),
        parameters(model.parameters()),
        total_parameters(parameters.Totals(tagging.modules)),
        costs(CostsOf(model, asked.shapes)),
        sizes(costs ? &costs->sizes : nullptr) {
    for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
      if (asked.nodes) nodes[tagging.tags[node].module].push_back(node);
    }
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
  const FoldedTree tree;
  const ParameterCounts parameters;
  const IdVector<ModuleId, std::uint64_t> total_parameters;
  const std::unique_ptr<ModelCosts> costs;  // null for a sidecar
  const sizes::ModelSizes* const sizes;     // likewise
  std::optional<MemoryView> memory;         // with --by memory
  IdVector<ModuleId, sizes::Sums> totals;   // of a module and its submodules
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
  const auto percent = [&](std::uint64_t nodes) {
    return PercentText(nodes, coverage.nodes);
  };
  std::string tagged =
      fmt::format("{} of {} ({})", WithThousands(coverage.tagged),
                  WithThousands(coverage.nodes), percent(coverage.tagged));
  if (coverage.tagged > 0) {
    tagged +=
        fmt::format(": {} sure ({}), {} found ({}), {} guessed",
                    WithThousands(coverage.sure), percent(coverage.sure),
                    WithThousands(coverage.found()), percent(coverage.found()),
                    WithThousands(coverage.guessed()));
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
// A number of a module with all below it; kNo: of what no module has. Without
// a model, numbers that need one are 0.
std::uint64_t NumberOf(const View& view, ShowBy by, ModuleId id) {
  const bool none = id == kNo<ModuleId>;
  if (by == ShowBy::kNodes) {
    return none ? view.coverage.untagged() : view.counts.Total(id);
  }
  if (by == ShowBy::kParameters) {
    return none ? view.parameters.unplaced : view.total_parameters[id];
  }
  if (view.sizes == nullptr) return 0;
  if (by == ShowBy::kMemory) return view.memory->PeakOf(id);
  const sizes::Sums& sums = none ? view.sizes->untagged : view.totals[id];
  return by == ShowBy::kFlops ? sums.flops : sums.bytes;
}

// Of several; of memory the most, for they run one after another.
std::uint64_t NumberOf(const View& view, ShowBy by,
                       std::span<const ModuleId> modules) {
  std::uint64_t sum = 0;
  for (const ModuleId id : modules) {
    const std::uint64_t one = NumberOf(view, by, id);
    sum =
        by == ShowBy::kMemory ? std::max(sum, one) : sizes::CappedSum(sum, one);
  }
  return sum;
}

std::uint64_t NumberOfAll(const View& view, ShowBy by) {
  return NumberOf(view, by, std::array{ModuleTree::kRoot, kNo<ModuleId>});
}

std::string NumberText(ShowBy by, std::uint64_t number) {
  const bool bytes = by == ShowBy::kBytes || by == ShowBy::kMemory;
  return AmountText(number, bytes ? Unit::kBytes : Unit::kPlain);
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

// A row of the tree: modules, the untagged nodes (kNo), or one node of those.
struct ShownRow {
  std::vector<ModuleId> modules = {};
  Datum label = {};
  std::string class_name = {};
  NodeId node = kNo<NodeId>;

  bool is_node() const { return node != kNo<NodeId>; }
  Datum::Levels Levels(const View& view) const {
    Datum::Levels levels = {};
    for (const ModuleId id : modules) {
      if (id == kNo<ModuleId>) continue;
      for (std::size_t level = 0; level < levels.size(); ++level) {
        levels[level] += view.counts.ByConfidence(id)[level];
      }
    }
    return levels;
  }
};

Datum ShareOf(const View& view, ShowBy by, const ShownRow& row) {
  const std::uint64_t all = NumberOfAll(view, by);
  if (row.is_node()) return "";
  if (all == 0) return "-";
  return Datum::Share(100.0 *
                      static_cast<double>(NumberOf(view, by, row.modules)) /
                      static_cast<double>(all));
}

// Of a node its FLOPs alone.
std::string NumberText(const View& view, ShowBy by, const ShownRow& row) {
  if (!row.is_node()) return NumberText(by, NumberOf(view, by, row.modules));
  if (by != ShowBy::kFlops || !view.costs) return "";
  const sizes::Dim flops = view.sizes->flops[row.node];
  return flops.IsNumber() && flops.number() >= 0
             ? NumberText(by, static_cast<std::uint64_t>(flops.number()))
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
  const ShowBy by = view.options.by;
  if (by == ShowBy::kAll) {
    const auto part = [&](ShowBy of) {
      return NumberOf(view, of, row.modules) == 0 ? Datum()
                                                  : ShareOf(view, of, row);
    };
    const std::size_t digits = std::to_string(view.coverage.nodes).size();
    const bool parameters = view.parameters.all > 0;
    const bool flops =
        NumberOfAll(view, ShowBy::kFlops) > 0 && FlopsKnown(*view.sizes);
    add("nodes", std::max<std::size_t>(digits, 5),
        row.is_node() ? Datum() : NumberOf(view, ShowBy::kNodes, row.modules));
    // Where the shares of parameters and FLOPs are known, that of nodes says
    // little.
    if (!parameters || !flops) {
      add("share", 9, ShareOf(view, ShowBy::kNodes, row));
    }
    if (parameters) add("params", 8, part(ShowBy::kParameters));
    if (flops) add("FLOPs", 9, part(ShowBy::kFlops));
    facts.push_back({{.heading = "sure", .width = 8}, row.Levels(view)});
  } else {
    add(EnumToWord(kShowByNames, by), 12, NumberText(view, by, row));
    add("share", 9, ShareOf(view, by, row));
    if (by == ShowBy::kMemory) {
      add("weights", 10, NumberText(view, ShowBy::kBytes, row));
    }
  }
  facts.push_back(
      {{.heading = "module", .ragged = true, .longest = std::string::npos},
       row.label});
  facts.push_back({{.heading = "class", .ragged = true},
                   Datum(row.class_name).Colored("36")});
  if (by == ShowBy::kFlops) {
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
  return {row.modules, row.branch + label, name};
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
        add({{}, before + NodeText(model, node, 200), "", node});
      }
    };
    for (const ModuleId top : view->tops) {
      view->tree.ForEachRow(top, folding, [&](const FoldedRow& row) {
        add(ShownModules(*view, row));
        for (const ModuleId id : row.modules) nodes(id, row.below + "  ");
      });
    }
    if (!view->whole()) return;
    add({{kNo<ModuleId>}, Datum("[untagged]").Colored("33")});
    nodes(kNo<ModuleId>, "  ");
  };
  return table;
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
  add("nodes", "", view.counts.Own(id));
  add("total_nodes", "nodes", view.counts.Total(id));
  add("parameters", "", view.parameters.own[id]);
  add("total_parameters", "parameters", view.total_parameters[id]);
  if (const FoundBlock* const block = tagging.FindFound(id)) {
    add("found", "", true);
    if (!block->description.empty()) add("description", "", block->description);
  }
  if (view.costs) {
    const sizes::Formulas& formulas = view.costs->shapes.formulas();
    const sizes::Sums& own = view.sizes->own[id];
    const sizes::Sums& total = view.totals[id];
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
  if (view.memory) add("peak_memory", "", view.memory->PeakOf(id));
  add("by_confidence", "",
      CountsValue(kConfidenceNames, view.counts.ByConfidence(id)));
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
               ForEachModule(*view,
                             [&](const Facts& facts) { use(ObjectOf(facts)); });
             })}});
  if (view->options.nodes && view->whole()) {
    data.Set("untagged_nodes", NodesValue(*view, kNo<ModuleId>));
  }
  return data;
}

}  // namespace

Result RunShow(const ShowOptions& options, Terminal& terminal) {
  const auto view = std::make_shared<const View>(options, terminal);
  const Extent extent = FindExtent(*view);
  Result result;
  result.rows.push_back(
      {ColumnsOf(ModuleFactsOf(*view, ModuleTree::kRoot)),
       {},
       [view](const Table::Use& use) {
         ForEachModule(*view, [&](const Facts& facts) { use(CellsOf(facts)); });
       }});
  AddHeader(*view, result);
  result.Add(TreeTable(view, extent.folding));
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
  AddAdvice(view->tagging, view->coverage, view->model.about(), result);
  result.data = Data(view);
  return result;
}

}  // namespace onnx_tag
