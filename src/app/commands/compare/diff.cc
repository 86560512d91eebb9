#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>

#include "app/commands/commands.h"
#include "app/commands/compare/compare.h"
#include "app/commands/read/model_sizes.h"
#include "app/commands/read/nodes.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Rows of text that are shown; --json has all.
constexpr std::size_t kMostRows = 60;
constexpr std::size_t kMostMoves = 20;
// Paths of layers that one row holds.
constexpr std::size_t kMostLayers = 1000;

bool IsIndex(std::string_view atom) {
  return !atom.empty() && atom.size() < 10 &&
         atom.find_first_not_of("0123456789") == atom.npos;
}

// "0-11", "0,2-4"
std::string Ranges(const std::set<std::uint32_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::uint32_t first = *at;
    std::uint32_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    if (!text.empty()) text += ',';
    text += first == last ? std::to_string(first)
                          : fmt::format("{}-{}", first, last);
  }
  return text;
}

// "encoder.layer.*.output": equal for all layers.
std::string WithoutIndices(std::string_view path) {
  std::string result;
  for (const std::string_view atom : Split(path, '.')) {
    if (!result.empty()) result += '.';
    result += IsIndex(atom) ? "*" : std::string(atom);
  }
  return result;
}

// "encoder.layer.{0-11}.output": one text for paths that differ in their
// indices.
std::string FoldPaths(std::span<const std::string> paths) {
  if (paths.size() == 1) return paths[0];
  std::vector<std::vector<std::string_view>> atoms;
  for (const std::string& path : paths) atoms.push_back(Split(path, '.'));
  std::string result;
  std::uint64_t product = 1;
  for (std::size_t place = 0; place < atoms[0].size(); ++place) {
    if (place > 0) result += '.';
    std::set<std::uint32_t> numbers;
    for (const auto& path : atoms) {
      std::uint32_t number = 0;
      const std::string_view atom = path[place];
      if (!IsIndex(atom)) break;
      std::from_chars(atom.data(), atom.data() + atom.size(), number);
      numbers.insert(number);
    }
    if (numbers.size() < 2) {
      result += atoms[0][place];
      continue;
    }
    product *= numbers.size();
    result += "{" + Ranges(numbers) + "}";
  }
  // Not every combination of the indices is meant.
  if (product != paths.size()) {
    result += fmt::format(" ({} of them)", paths.size());
  }
  return result;
}

void AppendWord(std::string& text, const std::string& word) {
  if (!text.empty()) text += ", ";
  text += word;
}

std::string Times(std::uint64_t count, std::string_view what) {
  return count == 1 ? Message("{}", what) : Message("{} {}", count, what);
}

// "+2 Cast, -MatMul, Gemm -> QGemm"
std::string Changes(const ModuleDifference& row) {
  std::string text;
  if (!row.untagged && row.in_a != row.in_b) {
    AppendWord(text, row.in_a ? "only in A" : "only in B");
  }
  if (row.other_class()) {
    AppendWord(text, Message("class {} -> {}", row.class_a, row.class_b));
  }
  for (const auto& [op, count] : row.added) {
    AppendWord(text, "+" + Times(count, op));
  }
  for (const auto& [op, count] : row.removed) {
    AppendWord(text, "-" + Times(count, op));
  }
  for (const auto& [ops, count] : row.changed) {
    AppendWord(text, Message("{} -> {}", Times(count, ops.first), ops.second));
  }
  for (const auto& [what, count] : row.altered) {
    AppendWord(text, count == 1 ? what : fmt::format("{} {}", count, what));
  }
  if (row.moved_in > 0) AppendWord(text, fmt::format("{} in", row.moved_in));
  if (row.moved_out > 0) AppendWord(text, fmt::format("{} out", row.moved_out));
  if (row.roles > 0) {
    AppendWord(text, Count(row.roles, "other role"));
  }
  return text;
}

struct DiffRow {
  std::uint64_t nodes_a = 0;
  std::uint64_t nodes_b = 0;
  std::string module;
  std::string changes;
};

// A module that only one version has, with all modules below it.
struct WholeModule {
  std::uint64_t nodes = 0;
  std::uint64_t modules = 0;
};

// By path: the outermost modules that only one version has.
std::unordered_map<std::string, WholeModule> FindWholeModules(
    const TagDifference& difference) {
  std::unordered_map<std::string_view, bool> only;  // path to "in A"
  for (const ModuleDifference& row : difference.modules) {
    if (!row.untagged && row.in_a != row.in_b) only[row.path] = row.in_a;
  }
  std::unordered_map<std::string, WholeModule> whole;
  for (const ModuleDifference& row : difference.modules) {
    if (row.untagged || row.in_a == row.in_b) continue;
    std::string_view top = row.path;
    for (std::size_t dot = top.rfind('.'); dot != std::string_view::npos;
         dot = top.rfind('.')) {
      const auto around = only.find(top.substr(0, dot));
      if (around == only.end() || around->second != row.in_a) break;
      top = around->first;
    }
    WholeModule& module = whole[std::string(top)];
    module.nodes += row.nodes_a + row.nodes_b;
    ++module.modules;
  }
  return whole;
}

// Layers that changed alike are one row. So is a layer that only one version
// has.
std::vector<DiffRow> FoldRows(const TagDifference& difference) {
  const std::unordered_map<std::string, WholeModule> whole =
      FindWholeModules(difference);
  struct Group {
    bool untagged;
    std::uint64_t nodes_a;
    std::uint64_t nodes_b;
    std::string changes;
    std::vector<std::string> paths;
  };
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> index;
  for (const ModuleDifference& module : difference.modules) {
    std::string changes;
    std::uint64_t nodes_a = module.nodes_a;
    std::uint64_t nodes_b = module.nodes_b;
    if (!module.untagged && module.in_a != module.in_b) {
      const auto at = whole.find(module.path);
      if (at == whole.end()) continue;  // part of another row
      (module.in_a ? nodes_a : nodes_b) = at->second.nodes;
      changes = fmt::format(
          "only in {}{}", module.in_a ? "A" : "B",
          at->second.modules == 1
              ? std::string()
              : fmt::format(", with {}",
                            Count(at->second.modules - 1, "submodule")));
    } else {
      changes = Changes(module);
    }
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", WithoutIndices(module.path),
                    module.untagged, nodes_a, nodes_b, changes);
    const auto [at, added] = index.try_emplace(key, groups.size());
    if (added) {
      groups.push_back({module.untagged, nodes_a, nodes_b, changes, {}});
    }
    groups[at->second].paths.push_back(module.path);
  }
  std::vector<DiffRow> rows;
  for (const Group& group : groups) {
    std::string module = group.untagged
                             ? "[untagged]"
                             : std::string(ShownPath(FoldPaths(group.paths)));
    if (group.paths.size() > 1) {
      module += fmt::format(" ×{}", group.paths.size());
    }
    rows.push_back(
        {group.nodes_a, group.nodes_b, std::move(module), group.changes});
  }
  return rows;
}

// Moves from one module to another, folded over layers.
std::vector<std::string> FoldMoves(const TaggedModel& a, const TaggedModel& b,
                                   const TagDifference& difference) {
  struct Move {
    std::uint64_t count = 0;
    std::string example;
    std::string op;
    std::vector<std::string> from;
    std::vector<std::string> to;
  };
  const auto module = [](const TaggedModel& model, NodeId node) {
    const Tag& tag = model.tagging().tags[node];
    return tag.tagged() ? model.tagging().modules.Shown(tag.module)
                        : std::string("[untagged]");
  };
  std::vector<std::pair<std::string, Move>> moves;
  std::unordered_map<std::string, std::size_t> index;
  for (const MovedNode& node : difference.moved) {
    const std::string from = module(a, node.a);
    const std::string to = module(b, node.b);
    const std::string key = Message("{}: {} -> {}", b.model().OpType(node.b),
                                    WithoutIndices(from), WithoutIndices(to));
    const auto [at, added] = index.try_emplace(key, moves.size());
    if (added) {
      moves.push_back({key,
                       {0,
                        Message("{} {}", b.model().Address(node.b),
                                Short{b.model()[node.b].name, 100}),
                        Message("{}", b.model().OpType(node.b)),
                        {},
                        {}}});
    }
    Move& move = moves[at->second].second;
    ++move.count;
    const auto add = [](std::vector<std::string>& paths, const auto& path) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end() &&
          paths.size() < kMostLayers) {
        paths.push_back(path);
      }
    };
    add(move.from, from);
    add(move.to, to);
  }
  // Stars would hide what is different: only the layers are.
  for (auto& [what, move] : moves) {
    if (WithoutIndices(move.from[0]) != WithoutIndices(move.to[0])) continue;
    what = Message("{}: {} -> {}", move.op, FoldPaths(move.from),
                   FoldPaths(move.to));
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const auto& x, const auto& y) {
                     return x.second.count > y.second.count;
                   });
  std::vector<std::string> lines;
  for (const auto& [what, move] : moves) {
    lines.push_back(fmt::format("{} {} (in B {})", WithThousands(move.count),
                                what, move.example));
  }
  return lines;
}

// One of the two models, and its sizes.
struct Side {
  std::shared_ptr<const TaggedModel> model;
  std::optional<sizes::ModelSizes> sizes;
};

void AddHead(std::string_view letter, const Side& side, std::uint64_t modules,
             Result& result) {
  const Coverage coverage = CountTags(side.model->tagging());
  result.Line("{}  {}: {}, {}, {} untagged ({})", letter,
              side.model->about().file, Count(coverage.nodes, "node"),
              Count(modules, "module"), WithThousands(coverage.untagged()),
              side.model->source());
  const std::string parameters =
      Count(side.model->parameters().all, "parameter");
  if (side.sizes) {
    result.Line("   {}, {}; FLOPs {}", parameters, WeightsText(*side.sizes),
                FlopsText(*side.sizes));
  } else {
    result.Line("   {}", parameters);
  }
}

std::string Totals(const TagDifference& difference) {
  if (difference.empty()) return "no difference";
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    AppendWord(text, fmt::format("{} {}", WithThousands(count), what));
  };
  add(difference.added, "added");
  add(difference.removed, "removed");
  add(difference.changed, "with a different operator");
  add(difference.moved.size(), "in a different module");
  add(difference.altered, "other attributes, constants, types or shapes");
  add(difference.roles, "with a different role");
  for (const std::string& opset : difference.opsets) {
    AppendWord(text, "opset " + opset);
  }
  add(difference.interface.size(), "other inputs or outputs");
  if (text.empty()) text = "all nodes are equal";
  return fmt::format(
      "{}; {}", text,
      difference.modules.size() == 1
          ? "1 module differs"
          : fmt::format("{} modules differ",
                        WithThousands(difference.modules.size())));
}

// All rows in Markdown; in text, those that still make a picture.
void AddText(const Side& a, const Side& b, const TagDifference& difference,
             bool weights, Result& result) {
  const std::vector<DiffRow> rows = FoldRows(difference);
  const std::vector<std::string> moves =
      FoldMoves(*a.model, *b.model, difference);
  const std::string totals = Totals(difference);
  AddHead("A", a, difference.modules_a, result);
  AddHead("B", b, difference.modules_b, result);
  result.Line("");
  Page& markdown = result.markdown;
  markdown.Line("**A** {}, **B** {}: {}\n", a.model->about().file,
                b.model->about().file, totals);
  if (!rows.empty()) {
    Table table{{{.heading = "A", .right = true, .width = 6},
                 {.heading = "B", .right = true, .width = 7},
                 {.heading = "module"},
                 {.heading = "what", .longest = std::string::npos}},
                {},
                {}};
    Table all{{table.columns[2], table.columns[0], table.columns[1],
               table.columns[3]},
              {},
              {}};
    for (const DiffRow& row : rows) {
      all.rows.push_back({row.module, row.nodes_a, row.nodes_b, row.changes});
      if (table.rows.size() == kMostRows) continue;
      table.rows.push_back({row.nodes_a, row.nodes_b, row.module, row.changes});
    }
    result.Add(std::move(table));
    markdown.Add(std::move(all));
  }
  if (rows.size() > kMostRows) {
    result.Line("  and {} more; --json lists all",
                Count(rows.size() - kMostRows, "row"));
  }
  if (!moves.empty()) {
    result.Line("\nnodes in a different module:");
    markdown.Line("\nNodes in a different module:\n");
  }
  for (std::size_t i = 0; i < moves.size(); ++i) {
    markdown.Line("- {}", Ours{moves[i]});
    if (i < kMostMoves) result.Line("  {}", Ours{moves[i]});
  }
  if (moves.size() > kMostMoves) {
    result.Line("  and {} more; --json lists all",
                Count(moves.size() - kMostMoves, "kind"));
  }
  if (!difference.interface.empty()) {
    result.Line("\ninputs and outputs:");
    markdown.Line("\nInputs and outputs:\n");
  }
  for (const std::string& difference_line : difference.interface) {
    result.Line("  {}", Ours{difference_line});
    markdown.Line("- {}", Ours{difference_line});
  }
  if (!rows.empty() || !moves.empty() || !difference.interface.empty()) {
    result.Line("");
  }
  if (weights) {
    result.Line("weights: {} equal, {} changed{}",
                WithThousands(difference.equal_weights),
                WithThousands(difference.changed_weights),
                difference.unread_weights == 0
                    ? std::string()
                    : fmt::format(", {} without values at hand",
                                  WithThousands(difference.unread_weights)));
  }
  result.Line("{}", Ours{totals});
}

// ---------------------------------------------------------------- for programs
Datum SideValue(const Side& side, std::uint64_t modules) {
  const Coverage coverage = CountTags(side.model->tagging());
  Datum value =
      Datum::Object({{"file", side.model->about().file},
                     {"tags_from", side.model->source()},
                     {"producer", Datum::OrNull(side.model->about().producer)},
                     {"nodes", coverage.nodes},
                     {"untagged", coverage.untagged()},
                     {"modules", modules}});
  value.Set("parameters", side.model->parameters().all);
  value.Add(SizeMembers(side.sizes ? &*side.sizes : nullptr));
  return value;
}

Datum CountsValue(const OperatorCounts& counts) {
  return Datum::Object(Datum::Members(counts.begin(), counts.end()));
}

Datum ModuleValue(const ModuleDifference& row) {
  Datum::List changed;
  for (const auto& [ops, count] : row.changed) {
    changed.push_back(Datum::Object(
        {{"from", ops.first}, {"to", ops.second}, {"count", count}}));
  }
  return Datum::Object(
      {{"path", row.untagged ? Datum() : Datum(row.path)},
       {"class_a", Datum::OrNull(row.class_a)},
       {"class_b", Datum::OrNull(row.class_b)},
       {"only_in", row.untagged || row.in_a == row.in_b ? Datum()
                   : row.in_a                           ? Datum("a")
                                                        : Datum("b")},
       {"nodes_a", row.nodes_a},
       {"nodes_b", row.nodes_b},
       {"added", CountsValue(row.added)},
       {"removed", CountsValue(row.removed)},
       {"changed", std::move(changed)},
       {"altered", CountsValue(row.altered)},
       {"moved_in", row.moved_in},
       {"moved_out", row.moved_out},
       {"other_role", row.roles}});
}

Datum MovedValue(const TaggedModel& model, NodeId node) {
  const Tag& tag = model.tagging().tags[node];
  Datum value = NodeValue(model.model(), node);
  value.Set("module", tag.tagged()
                          ? Datum(model.tagging().modules.Path(tag.module))
                          : Datum());
  return value;
}

// Lists are made item by item, for there may be many.
Datum Data(const Side& a, const Side& b,
           const std::shared_ptr<const TagDifference>& difference,
           bool weights) {
  return Datum::Object(
      {{"a", SideValue(a, difference->modules_a)},
       {"b", SideValue(b, difference->modules_b)},
       {"equal", difference->empty()},
       {"added", difference->added},
       {"removed", difference->removed},
       {"changed", difference->changed},
       {"altered", difference->altered},
       {"other_role", difference->roles},
       {"opsets", difference->opsets},
       {"interface", difference->interface},
       {"weights",
        weights ? Datum::Object({{"equal", difference->equal_weights},
                                 {"changed", difference->changed_weights},
                                 {"unread", difference->unread_weights}})
                : Datum()},
       {"modules", Datum::Stream([difference](const Datum::Use& use) {
          for (const auto& row : difference->modules) use(ModuleValue(row));
        })},
       {"moved", Datum::Stream([difference, from = a.model,
                                to = b.model](const Datum::Use& use) {
          for (const MovedNode& node : difference->moved) {
            use(Datum::Object({{"a", MovedValue(*from, node.a)},
                               {"b", MovedValue(*to, node.b)}}));
          }
        })}});
}

Side Load(const std::string& path, const DiffOptions& options,
          Terminal& terminal) {
  auto model = std::make_shared<const TaggedModel>(
      TaggedModel::Load(path, options.source, terminal));
  std::optional<sizes::ModelSizes> sizes = SizesOf(*model, options.shapes);
  return {std::move(model), std::move(sizes)};
}

}  // namespace

Result RunDiff(const DiffOptions& options, Terminal& terminal) {
  const Side a = Load(options.a, options, terminal);
  const Side b = Load(options.b, options, terminal);
  for (const Side* side : {&a, &b}) {
    if (options.weights && side->model->file() == nullptr) {
      Fail(ErrorKind::kUsage,
           "{}: --weights needs two models; a sidecar has no weights",
           side->model->about().file);
    }
  }
  if (options.by == DiffBy::kRole) return DiffRoles(*a.model, *b.model);
  const auto difference = std::make_shared<const TagDifference>(
      CompareTags(*a.model, *b.model, options.weights));
  Result result;
  AddText(a, b, *difference, options.weights, result);
  result.data = Data(a, b, difference, options.weights);
  if (!difference->empty()) result.exit_code = ExitCode::kFindings;
  return result;
}

}  // namespace onnx_tag
