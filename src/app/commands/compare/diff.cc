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
#include "app/render/render.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Rows of text that are shown; --json has all.
constexpr std::size_t kMostRows = 60;
constexpr std::size_t kMostMoves = 20;
// Paths of layers that one row holds.
constexpr std::size_t kMostLayers = 1000;

// Of a layer; longer numbers do not fit into 32 bits.
bool IsIndex(std::string_view atom) {
  return hierarchy::IsNumeric(atom) && atom.size() < 10;
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
template <typename Paths>
std::string FoldPaths(const Paths& paths) {
  if (paths.size() == 1) return *paths.begin();
  const auto atoms =
      Mapped(paths, [](const std::string& path) { return Split(path, '.'); });
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

std::string Times(std::uint64_t count, std::string_view what) {
  return count == 1 ? Message("{}", what) : Message("{} {}", count, what);
}

// "+2 Cast, -MatMul, Gemm -> QGemm"
std::string Changes(const ModuleDifference& row) {
  std::vector<std::string> words;
  if (row.other_class()) {
    words.push_back(Message("class {} -> {}", row.class_a, row.class_b));
  }
  for (const auto& [op, count] : row.added) {
    words.push_back("+" + Times(count, op));
  }
  for (const auto& [op, count] : row.removed) {
    words.push_back("-" + Times(count, op));
  }
  for (const auto& [ops, count] : row.changed) {
    words.push_back(Message("{} -> {}", Times(count, ops.first), ops.second));
  }
  for (const auto& [what, count] : row.altered) {
    words.push_back(count == 1 ? what : fmt::format("{} {}", count, what));
  }
  if (row.moved_in > 0) words.push_back(fmt::format("{} in", row.moved_in));
  if (row.moved_out > 0) words.push_back(fmt::format("{} out", row.moved_out));
  if (row.roles > 0) words.push_back(Count(row.roles, "other role"));
  return Join(words);
}

// Modules that changed alike.
struct DiffRow {
  bool untagged;
  std::uint64_t nodes_a;
  std::uint64_t nodes_b;
  std::string changes;
  std::vector<std::string> paths = {};
};

// In text, numbers come first.
Facts RowFacts(const DiffRow& row, bool markdown) {
  std::string module = row.untagged
                           ? "[untagged]"
                           : std::string(ShownPath(FoldPaths(row.paths)));
  if (row.paths.size() > 1) module += fmt::format(" ×{}", row.paths.size());
  Facts facts = {
      {NumberColumn("", "A", 6), row.nodes_a},
      {NumberColumn("", "B", 7), row.nodes_b},
      {{.heading = "module"}, std::move(module)},
      {{.heading = "what", .longest = std::string::npos}, row.changes}};
  if (markdown) std::rotate(facts.begin(), facts.begin() + 2, facts.end() - 1);
  return facts;
}

// A module that only one version has, with all modules below it.
struct WholeModule {
  std::uint64_t nodes = 0;
  std::uint64_t modules = 0;
};

// By path: the outermost modules that only one version has.
std::unordered_map<std::string, WholeModule> FindWholeModules(
    const TagDifference& difference) {
  // By path, the outermost one around it. A module stands before those in it.
  std::unordered_map<std::string_view, const ModuleDifference*> tops;
  std::unordered_map<std::string, WholeModule> whole;
  for (const ModuleDifference& row : difference.modules) {
    if (!row.only_in_one()) continue;
    const ModuleDifference*& top = tops[row.path];
    top = &row;
    const std::size_t dot = row.path.rfind('.');
    if (dot != std::string::npos) {
      const auto around = tops.find(std::string_view(row.path).substr(0, dot));
      if (around != tops.end() && around->second->in_a == row.in_a) {
        top = around->second;
      }
    }
    WholeModule& module = whole[top->path];
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
  std::vector<DiffRow> rows;
  std::unordered_map<std::string, std::size_t> index;
  for (const ModuleDifference& module : difference.modules) {
    DiffRow row{module.untagged, module.nodes_a, module.nodes_b, ""};
    if (!module.only_in_one()) {
      row.changes = Changes(module);
    } else {
      const auto at = whole.find(module.path);
      if (at == whole.end()) continue;  // part of another row
      (module.in_a ? row.nodes_a : row.nodes_b) = at->second.nodes;
      row.changes = module.in_a ? "only in A" : "only in B";
      if (at->second.modules > 1) {
        row.changes += ", with " + Count(at->second.modules - 1, "submodule");
      }
    }
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", WithoutIndices(module.path),
                    row.untagged, row.nodes_a, row.nodes_b, row.changes);
    const auto [at, added] = index.try_emplace(key, rows.size());
    if (added) rows.push_back(std::move(row));
    rows[at->second].paths.push_back(module.path);
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
    std::set<std::string> from = {};
    std::set<std::string> to = {};
  };
  std::vector<std::pair<std::string, Move>> moves;
  std::unordered_map<std::string, std::size_t> index;
  for (const MovedNode& node : difference.moved) {
    const std::string from = ModuleOf(a.tagging(), node.a, "[untagged]");
    const std::string to = ModuleOf(b.tagging(), node.b, "[untagged]");
    const std::string key = Message("{}: {} -> {}", b.model().OpType(node.b),
                                    WithoutIndices(from), WithoutIndices(to));
    const auto [at, added] = index.try_emplace(key, moves.size());
    if (added) {
      moves.push_back({key,
                       {0,
                        Message("{} {}", b.model().Address(node.b),
                                Short{b.model()[node.b].name, 100}),
                        Message("{}", b.model().OpType(node.b))}});
    }
    Move& move = moves[at->second].second;
    ++move.count;
    if (move.from.size() < kMostLayers) move.from.insert(from);
    if (move.to.size() < kMostLayers) move.to.insert(to);
  }
  // Stars would hide what is different: only the layers are.
  for (auto& [what, move] : moves) {
    if (WithoutIndices(*move.from.begin()) !=
        WithoutIndices(*move.to.begin())) {
      continue;
    }
    what = Message("{}: {} -> {}", move.op, FoldPaths(move.from),
                   FoldPaths(move.to));
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const auto& x, const auto& y) {
                     return x.second.count > y.second.count;
                   });
  return Mapped(moves, [](const auto& row) {
    const auto& [what, move] = row;
    return fmt::format("{} {} (in B {})", WithThousands(move.count), what,
                       move.example);
  });
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

std::string Totals(const TagDifference& difference, bool weights) {
  if (difference.empty()) {
    return weights ? "no difference"
                   : "no difference; values of weights were not compared";
  }
  std::vector<std::string> words;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    words.push_back(fmt::format("{} {}", WithThousands(count), what));
  };
  add(difference.added, "added");
  add(difference.removed, "removed");
  add(difference.changed, "with a different operator");
  add(difference.moved.size(), "in a different module");
  add(difference.altered,
      "other inputs, attributes, constants, types or shapes");
  add(difference.roles, "with a different role");
  for (const std::string& opset : difference.opsets) {
    words.push_back("opset " + opset);
  }
  add(difference.interface.size(), "other inputs or outputs");
  const std::string text = words.empty() ? "all nodes are equal" : Join(words);
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
  const std::string totals = Totals(difference, weights);
  AddHead("A", a, difference.modules_a, result);
  AddHead("B", b, difference.modules_b, result);
  result.Line("");
  Page& markdown = result.markdown;
  markdown.Line("**A** {}, **B** {}: {}\n", a.model->about().file,
                b.model->about().file, totals);
  if (!rows.empty()) {
    const std::span shown(rows.data(), std::min(rows.size(), kMostRows));
    result.Add(
        TableOf(shown, [](const auto& row) { return RowFacts(row, false); }));
    markdown.Add(
        TableOf(rows, [](const auto& row) { return RowFacts(row, true); }));
  }
  if (rows.size() > kMostRows) {
    result.Line("  and {} more; --json lists all",
                Count(rows.size() - kMostRows, "row"));
  }
  // All of a list in Markdown, the first in text.
  const auto add_list = [&](std::string_view title, std::string_view kind,
                            const std::vector<std::string>& lines,
                            std::size_t most) {
    if (lines.empty()) return;
    std::string capital(title);
    capital[0] = static_cast<char>(std::toupper(capital[0]));
    result.Line("\n{}:", title);
    markdown.Line("\n{}:\n", capital);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      markdown.Line("- {}", Ours{lines[i]});
      if (i < most) result.Line("  {}", Ours{lines[i]});
    }
    if (lines.size() <= most) return;
    result.Line("  and {} more; --json lists all",
                Count(lines.size() - most, kind));
  };
  add_list("nodes in a different module", "kind", moves, kMostMoves);
  add_list("inputs and outputs", "", difference.interface,
           difference.interface.size());
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
  const auto change = [](const auto& changed) {
    const auto& [ops, count] = changed;
    return Datum::Object(
        {{"from", ops.first}, {"to", ops.second}, {"count", count}});
  };
  return Datum::Object({{"path", row.untagged ? Datum() : Datum(row.path)},
                        {"class_a", Datum::OrNull(row.class_a)},
                        {"class_b", Datum::OrNull(row.class_b)},
                        {"only_in", !row.only_in_one() ? Datum()
                                    : row.in_a         ? "a"
                                                       : "b"},
                        {"nodes_a", row.nodes_a},
                        {"nodes_b", row.nodes_b},
                        {"added", CountsValue(row.added)},
                        {"removed", CountsValue(row.removed)},
                        {"changed", ListOf(row.changed, change)},
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
  Side side{std::make_shared<const TaggedModel>(
                TaggedModel::Load(path, options.source, terminal)),
            std::nullopt};
  side.sizes = SizesOf(*side.model, options.shapes);
  return side;
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
  const auto difference = std::make_shared<const TagDifference>(
      CompareTags(*a.model, *b.model, options.weights));
  Result result;
  AddText(a, b, *difference, options.weights, result);
  result.data = Data(a, b, difference, options.weights);
  if (!difference->empty()) result.exit_code = ExitCode::kFindings;
  return result;
}

}  // namespace onnx_tag
