#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/compare/compare_tags.h"
#include "commands/compare/fold_layers.h"
#include "commands/read/model_sizes.h"
#include "json/writer.h"

namespace onnx_tag {
namespace {

// Rows of text that are shown; --json has all.
constexpr std::size_t kMostRows = 60;
constexpr std::size_t kMostMoves = 20;

std::string ModuleText(bool untagged, const std::string& path) {
  if (untagged) return "[untagged]";
  return path.empty() ? "<root>" : Printable(path, 200);
}

void AppendWord(std::string& text, const std::string& word) {
  if (!text.empty()) text += ", ";
  text += word;
}

std::string Times(std::uint64_t count, std::string_view what) {
  return count == 1 ? Printable(what, 60)
                    : fmt::format("{} {}", count, Printable(what, 60));
}

// "+2 Cast, -MatMul, Gemm -> QGemm"
std::string Changes(const ModuleDifference& row) {
  std::string text;
  if (!row.untagged && row.in_a != row.in_b) {
    AppendWord(text, row.in_a ? "only in A" : "only in B");
  }
  if (row.other_class()) {
    AppendWord(text, fmt::format("class {} -> {}", Printable(row.class_a, 60),
                                 Printable(row.class_b, 60)));
  }
  for (const auto& [op, count] : row.added) {
    AppendWord(text, "+" + Times(count, op));
  }
  for (const auto& [op, count] : row.removed) {
    AppendWord(text, "-" + Times(count, op));
  }
  for (const auto& [ops, count] : row.changed) {
    AppendWord(text, fmt::format("{} -> {}", Times(count, ops.first),
                                 Printable(ops.second, 60)));
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
    std::string module = ModuleText(group.untagged, FoldPaths(group.paths));
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
  };
  const auto module = [](const TaggedModel& model, NodeId node) {
    const Tag& tag = model.tagging().tags[node];
    if (!tag.tagged()) return std::string("[untagged]");
    const std::string path = model.tagging().modules.Path(tag.module);
    return path.empty() ? std::string("<root>") : path;
  };
  std::vector<std::pair<std::string, Move>> moves;
  std::unordered_map<std::string, std::size_t> index;
  for (const MovedNode& node : difference.moved) {
    const std::string from = module(a, node.a);
    const std::string to = module(b, node.b);
    const std::string key =
        fmt::format("{}: {} -> {}", Printable(b.nodes().Op(node.b), 60),
                    Printable(WithoutIndices(from), 200),
                    Printable(WithoutIndices(to), 200));
    const auto [at, added] = index.try_emplace(key, moves.size());
    if (added) {
      moves.push_back(
          {key,
           {0, fmt::format("{} {}", b.nodes().Address(node.b),
                           Printable(b.nodes().Name(node.b), 100))}});
    }
    ++moves[at->second].second.count;
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
  const TaggedModel& model;
  std::optional<sizes::ModelSizes> sizes;
};

std::string Head(std::string_view letter, const Side& side,
                 std::uint64_t modules) {
  const TaggedModel& model = side.model;
  const Coverage coverage = CountTags(model.tagging());
  std::string text =
      fmt::format("{}  {}: {}, {}, {} untagged ({})\n", letter,
                  Printable(model.about().file, 200),
                  Count(coverage.nodes, "node"), Count(modules, "module"),
                  WithThousands(coverage.untagged()), model.source());
  if (side.sizes) {
    text += fmt::format("   {}, {}; FLOPs {}\n",
                        Count(side.sizes->all.parameters, "parameter"),
                        WeightsText(*side.sizes), FlopsText(*side.sizes));
  }
  return text;
}

std::string Totals(const TagDifference& difference) {
  if (difference.empty()) return "no difference\n";
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    AppendWord(text, fmt::format("{} {}", WithThousands(count), what));
  };
  add(difference.added, "added");
  add(difference.removed, "removed");
  add(difference.changed, "with a different operator");
  add(difference.moved.size(), "in a different module");
  add(difference.altered, "other attributes, types or shapes");
  add(difference.roles, "with a different role");
  for (const std::string& opset : difference.opsets) {
    AppendWord(text, "opset " + opset);
  }
  if (text.empty()) text = "all nodes are equal";
  return fmt::format(
      "{}; {}\n", text,
      difference.modules.size() == 1
          ? "1 module differs"
          : fmt::format("{} modules differ",
                        WithThousands(difference.modules.size())));
}

std::string Text(const Side& side_a, const Side& side_b,
                 const TagDifference& difference) {
  const TaggedModel& a = side_a.model;
  const TaggedModel& b = side_b.model;
  std::string text = Head("A", side_a, difference.modules_a) +
                     Head("B", side_b, difference.modules_b) + "\n";
  const std::vector<DiffRow> rows = FoldRows(difference);
  std::size_t widest = 6;
  for (const DiffRow& row : rows) widest = std::max(widest, row.module.size());
  widest = std::min<std::size_t>(widest, 60);
  if (!rows.empty()) {
    text += fmt::format("{:>6} {:>6}  {:<{}}  {}\n", "A", "B", "module", widest,
                        "what");
  }
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    text +=
        fmt::format("{:>6} {:>6}  {:<{}}  {}\n", rows[i].nodes_a,
                    rows[i].nodes_b, rows[i].module, widest, rows[i].changes);
  }
  if (rows.size() > kMostRows) {
    text += fmt::format("  and {} more; --json lists all\n",
                        Count(rows.size() - kMostRows, "row"));
  }
  const std::vector<std::string> moves = FoldMoves(a, b, difference);
  if (!moves.empty()) text += "\nnodes in a different module:\n";
  for (std::size_t i = 0; i < std::min(moves.size(), kMostMoves); ++i) {
    text += "  " + moves[i] + "\n";
  }
  if (moves.size() > kMostMoves) {
    text += fmt::format("  and {} more; --json lists all\n",
                        Count(moves.size() - kMostMoves, "kind"));
  }
  if (!rows.empty() || !moves.empty()) text += "\n";
  return text + Totals(difference);
}

// A cell of a Markdown table: bars end it, and backquotes its code.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '`') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string Markdown(const TaggedModel& a, const TaggedModel& b,
                     const TagDifference& difference) {
  std::string text = fmt::format(
      "**A** {}, **B** {}: {}\n", Cell(Printable(a.about().file, 200)),
      Cell(Printable(b.about().file, 200)), Totals(difference));
  const std::vector<DiffRow> rows = FoldRows(difference);
  if (!rows.empty()) {
    text += "| module | A | B | what |\n|---|---:|---:|---|\n";
  }
  for (const DiffRow& row : rows) {
    text += fmt::format("| {} | {} | {} | {} |\n", Cell(row.module),
                        row.nodes_a, row.nodes_b, Cell(row.changes));
  }
  const std::vector<std::string> moves = FoldMoves(a, b, difference);
  if (!moves.empty()) text += "\nNodes in a different module:\n\n";
  for (const std::string& move : moves) text += "- " + Cell(move) + "\n";
  return text;
}

void AddSide(JsonWriter& json, std::string_view key, const Side& side,
             std::uint64_t modules) {
  const TaggedModel& model = side.model;
  const Coverage coverage = CountTags(model.tagging());
  json.Key(key).BeginObject();
  json.Key("file").String(model.about().file);
  json.Key("tags_from").String(model.source());
  json.Key("producer").StringOrNull(model.about().producer);
  json.Key("nodes").Number(coverage.nodes);
  json.Key("untagged").Number(coverage.untagged());
  json.Key("modules").Number(modules);
  if (side.sizes) json.Key("parameters").Number(side.sizes->all.parameters);
  AddSizes(json, side.sizes);
  json.EndObject();
}

void AddCounts(JsonWriter& json, std::string_view key,
               const OperatorCounts& counts) {
  json.Key(key).BeginObject();
  for (const auto& [op, count] : counts) json.Key(op).Number(count);
  json.EndObject();
}

void AddModule(JsonWriter& json, const ModuleDifference& row) {
  json.BeginObject();
  if (row.untagged) {
    json.Key("path").Null();
  } else {
    json.Key("path").String(row.path);
  }
  json.Key("class_a").StringOrNull(row.class_a);
  json.Key("class_b").StringOrNull(row.class_b);
  json.Key("only_in").StringOrNull(row.untagged || row.in_a == row.in_b ? ""
                                   : row.in_a                           ? "a"
                                                                        : "b");
  json.Key("nodes_a").Number(row.nodes_a);
  json.Key("nodes_b").Number(row.nodes_b);
  AddCounts(json, "added", row.added);
  AddCounts(json, "removed", row.removed);
  json.Key("changed").BeginArray();
  for (const auto& [ops, count] : row.changed) {
    json.BeginObject();
    json.Key("from").String(ops.first);
    json.Key("to").String(ops.second);
    json.Key("count").Number(count);
    json.EndObject();
  }
  json.EndArray();
  AddCounts(json, "altered", row.altered);
  json.Key("moved_in").Number(row.moved_in);
  json.Key("moved_out").Number(row.moved_out);
  json.Key("other_role").Number(row.roles);
  json.EndObject();
}

void AddNode(JsonWriter& json, std::string_view key, const TaggedModel& model,
             NodeId node) {
  const NodeList& nodes = model.nodes();
  const Tag& tag = model.tagging().tags[node];
  json.Key(key).BeginObject();
  json.Key("graph").String(nodes.Graph(node));
  json.Key("index").Number(nodes.IndexOf(node));
  json.Key("name").String(nodes.Name(node));
  json.Key("op").String(nodes.Op(node));
  if (tag.tagged()) {
    json.Key("module").String(model.tagging().modules.Path(tag.module));
  } else {
    json.Key("module").Null();
  }
  json.EndObject();
}

void PrintJson(const Side& side_a, const Side& side_b,
               const TagDifference& difference, Terminal& terminal) {
  const TaggedModel& a = side_a.model;
  const TaggedModel& b = side_b.model;
  JsonWriter json;
  json.BeginObject();
  AddSide(json, "a", side_a, difference.modules_a);
  AddSide(json, "b", side_b, difference.modules_b);
  json.Key("equal").Bool(difference.empty());
  json.Key("added").Number(difference.added);
  json.Key("removed").Number(difference.removed);
  json.Key("changed").Number(difference.changed);
  json.Key("altered").Number(difference.altered);
  json.Key("other_role").Number(difference.roles);
  json.Key("opsets").BeginArray();
  for (const std::string& opset : difference.opsets) json.String(opset);
  json.EndArray();
  json.Key("modules").BeginArray();
  for (const ModuleDifference& row : difference.modules) {
    AddModule(json, row);
    terminal.Out(json.Take());
  }
  json.EndArray();
  json.Key("moved").BeginArray();
  for (const MovedNode& node : difference.moved) {
    json.BeginObject();
    AddNode(json, "a", a, node.a);
    AddNode(json, "b", b, node.b);
    json.EndObject();
    terminal.Out(json.Take());
  }
  json.EndArray();
  json.EndObject();
  terminal.Out(json.Take() + "\n");
}

}  // namespace

ExitCode RunDiff(const DiffOptions& options, Terminal& terminal) {
  const TaggedModel a = TaggedModel::Load(options.a, options.source, terminal);
  const TaggedModel b = TaggedModel::Load(options.b, options.source, terminal);
  const TagDifference difference = CompareTags(a, b);
  const Side side_a{a, SizesOf(a, options.shapes)};
  const Side side_b{b, SizesOf(b, options.shapes)};
  if (options.json) {
    PrintJson(side_a, side_b, difference, terminal);
  } else {
    terminal.Out(options.markdown ? Markdown(a, b, difference)
                                  : Text(side_a, side_b, difference));
  }
  return difference.empty() ? ExitCode::kOk : ExitCode::kFindings;
}

}  // namespace onnx_tag
