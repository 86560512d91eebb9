#include "commands/profile/profile_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "commands/read/folded_tree.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

struct Line {
  std::string label;
  std::string detail;
  ProfilePair numbers;
  bool placed = true;
  bool shown = true;
};

void Add(const ProfilePair& from, const ProfileReport& report,
         ProfilePair& to) {
  for (std::size_t side = 0; side < to.size(); ++side) {
    to[side].Add(from[side], report.measure);
  }
}

class Table {
 public:
  Table(const ProfileReport& report, bool tree, Terminal& terminal)
      : report_(report), tree_(tree), terminal_(terminal) {}

  void Heads(std::string_view key, std::string_view detail) {
    std::vector<std::string> cells;
    if (report_.two()) {
      cells = {ProfileUnit("A", report_), ProfileUnit("B", report_), "B - A",
               "B / A"};
    } else {
      cells = {ProfileUnit("self", report_)};
      if (tree_) cells.push_back(ProfileUnit("total", report_));
      cells.insert(cells.end(),
                   {"share", "calls", ProfileUnit("mean", report_)});
    }
    Print(cells, key, detail);
  }

  void Row(const Line& line) {
    const ProfileNumbers& first = line.numbers[0];
    const std::int64_t number = NumberOf(first);
    std::vector<std::string> cells;
    if (report_.two()) {
      const std::int64_t second = NumberOf(line.numbers[1]);
      cells = {ProfileNumber(number, report_), ProfileNumber(second, report_),
               ProfileNumber(second - number, report_),
               number == 0
                   ? "-"
                   : fmt::format("{:.2f}", static_cast<double>(second) /
                                               static_cast<double>(number))};
    } else {
      cells = {ProfileNumber(first.self, report_)};
      if (tree_) cells.push_back(ProfileNumber(first.total, report_));
      cells.insert(cells.end(),
                   {ProfileShare(number, report_.sides[0].total),
                    WithThousands(first.calls), Mean(number, first.calls)});
    }
    Print(cells, line.label, line.detail);
  }

 private:
  std::int64_t NumberOf(const ProfileNumbers& numbers) const {
    return tree_ ? numbers.total : numbers.self;
  }

  // Per run of the model; per call if runs are not recorded.
  std::string Mean(std::int64_t number, std::uint64_t calls) const {
    const std::uint64_t recorded = report_.sides[0].model_runs;
    const std::uint64_t runs = recorded > 0 ? recorded : calls;
    if (report_.measure.level || runs == 0) return "-";
    return ProfileNumber(number / static_cast<std::int64_t>(runs), report_);
  }

  void Print(const std::vector<std::string>& cells, std::string_view label,
             std::string_view detail) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += fmt::format("{:>{}}", cells[i], i == 0 ? 10 : 11);
    }
    text += "  ";
    text += label;
    if (!detail.empty()) text.append("  ").append(detail);
    terminal_.Out(text + "\n");
  }

  const ProfileReport& report_;
  const bool tree_;
  Terminal& terminal_;
};

// The rows of the tree, parents first.
std::vector<Line> TreeLines(const TaggedModel& model,
                            const ProfileReport& report) {
  const Tagging& tagging = model.tagging();
  const ModuleCounts counts(tagging);
  const FoldedTree tree(tagging, counts);
  std::vector<Line> lines;
  tree.ForEachRow(ModuleTree::kRoot, {}, [&](const FoldedRow& row) {
    Line line;
    for (const ModuleId id : row.modules) {
      Add(report.modules[id], report, line.numbers);
    }
    if (line.numbers[0].calls + line.numbers[1].calls == 0) return;
    const ModuleId module = row.modules.front();
    const bool root = module == ModuleTree::kRoot;
    line.label = row.branch + (root ? "<root>" : Printable(row.label, 200));
    std::string_view name = tagging.modules.Class(module);
    if (root && name.empty()) name = tagging.root.name;
    line.detail = Printable(name, 70);
    if (row.modules.size() > 1) {
      line.detail += fmt::format(" ×{}", row.modules.size());
    }
    lines.push_back(std::move(line));
  });
  return lines;
}

std::vector<Line> RowLines(const ProfileReport& report) {
  std::vector<Line> lines;
  for (const ProfileRow& row : report.rows) {
    lines.push_back({Printable(row.name, 70), Printable(row.detail, 70),
                     row.numbers, row.placed});
  }
  return lines;
}

// Hides all but the `top` largest. In a tree, what holds a large row is at
// least as large.
std::size_t Hide(std::vector<Line>& lines, std::uint64_t top, bool tree) {
  if (top == 0 || lines.size() <= top) return 0;
  std::vector<std::size_t> order(lines.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto size = [&](std::size_t i) {
    const ProfilePair& numbers = lines[i].numbers;
    return tree ? std::max(numbers[0].total, numbers[1].total)
                : std::max(numbers[0].self, numbers[1].self);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return size(a) > size(b); });
  std::size_t hidden = 0;
  for (std::size_t i = static_cast<std::size_t>(top); i < order.size(); ++i) {
    // What could not be placed is shown however little it is.
    if (!lines[order[i]].placed) continue;
    lines[order[i]].shown = false;
    ++hidden;
  }
  return hidden;
}

}  // namespace

void PrintProfileTable(const TaggedModel& model, const ProfileReport& report,
                       const ProfileOptions& options, Terminal& terminal) {
  const bool tree = options.by == ProfileKey::kModule;
  std::vector<Line> lines = tree ? TreeLines(model, report) : RowLines(report);
  const std::size_t hidden = Hide(lines, options.top, tree);
  if (tree) {
    for (const ProfileRow& row : report.rows) {
      if (row.placed) continue;
      lines.push_back({row.name, "", row.numbers, false});
    }
  }
  terminal.Out(ProfileHead(report) + "\n");
  Table table(report, tree, terminal);
  table.Heads(EnumToWord(kProfileKeyNames, options.by),
              tree                              ? "class"
              : options.by == ProfileKey::kNode ? "module"
                                                : "");
  Line rest;
  for (Line& line : lines) {
    if (!line.placed) line.detail = UnplacedOperators(report, line.label);
    if (line.shown) {
      table.Row(line);
    } else {
      Add(line.numbers, report, rest.numbers);
    }
  }
  // In a tree, the rows above have it.
  rest.label = fmt::format("{}; --top 0 shows all", Count(hidden, "other row"));
  if (hidden > 0 && !tree) table.Row(rest);
  Line all;
  all.label = "all";
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    const ProfileSide& side = report.sides[i];
    all.numbers[i] = {side.total, side.total, side.calls};
  }
  table.Row(all);
  if (hidden > 0 && tree) {
    terminal.Out(fmt::format("\n{} not shown; --top 0 shows all\n",
                             Count(hidden, "row")));
  }
}

}  // namespace onnx_tag
