// For people.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "app/commands/profile/kernels.h"
#include "app/commands/profile/profile_report.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "core/tagging/words.h"

namespace onnx_tag {
namespace {

using profile::KernelGroups;
using profile::Profile;
using profile::Spread;

std::string Milliseconds(std::int64_t microseconds) {
  return fmt::format("{:.3f}", static_cast<double>(microseconds) / 1000.0);
}

// "self ms", "self"
std::string ProfileUnit(std::string_view head, const ProfileReport& report) {
  return std::string(head) + (report.measure.IsTime() ? " ms" : "");
}

// "1.234" milliseconds, "1,024" bytes, "0.5"
std::string ProfileNumber(std::int64_t number, const ProfileReport& report) {
  if (report.measure.IsTime()) return Milliseconds(number);
  if (report.measure.parts != 1) {
    return fmt::format("{:.6g}", static_cast<double>(number) /
                                     static_cast<double>(report.measure.parts));
  }
  return (number < 0 ? "-" : "") +
         WithThousands(static_cast<std::uint64_t>(std::abs(number)));
}

std::string ProfileShare(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f}%", 100.0 * ShareOf(part, whole));
}

// What was read, and what was spent outside kernels.
void AddHead(const ProfileReport& report, Result& result) {
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    const ProfileSide& side = report.sides[i];
    const std::string_view letter = !report.two() ? "" : i == 0 ? "A  " : "B  ";
    if (!report.measure.IsTime()) {
      result.Line("{}{}: {} {}, {}", letter, side.file, report.measure.name,
                  ProfileNumber(side.total, report),
                  Count(side.calls, "number"));
      continue;
    }
    result.Line("{}{}: {} ms in kernels, {} in {}", letter, side.file,
                Milliseconds(side.total), Count(side.calls, "call"),
                Count(side.model_runs, "run"));
    if (side.outside) {
      result.Line("  {} ms ({}) of the runs outside kernels",
                  Milliseconds(*side.outside),
                  ProfileShare(*side.outside, *side.outside + side.total));
    }
  }
  result.Line("");
}

// "ReorderInput, Cast": the kernels without a node in the row `why`. Layers of
// TensorRT and lines of a table have a name, but no operator.
std::string UnplacedOperators(const ProfileReport& report,
                              const std::string& why) {
  std::map<std::string, std::int64_t> times;
  for (const UnplacedKernel& kernel : report.unplaced) {
    if (kernel.why != why) continue;
    std::int64_t& time = times[kernel.op.empty() ? kernel.name : kernel.op];
    time = report.measure.Add(time, kernel.self);
  }
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  sorted.reserve(times.size());
  for (const auto& [op, time] : times) sorted.emplace_back(-time, op);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
    if (!text.empty()) text += ", ";
    text += Message("{}", Short{sorted[i].second, 40});
  }
  return sorted.size() > kMost ? text + ", ..." : text;
}

struct Line {
  std::string label;
  std::string detail;
  ProfilePair numbers;
  bool placed = true;
  bool shown = true;
  Spread spread = {};
};

void Add(const ProfilePair& from, const ProfileReport& report,
         ProfilePair& to) {
  for (std::size_t side = 0; side < to.size(); ++side) {
    to[side].Add(from[side], report.measure);
  }
}

// The rows of the tree, parents first.
std::vector<Line> TreeLines(const TaggedModel& model,
                            const ProfileReport& report,
                            const Profile& profile) {
  const Tagging& tagging = model.tagging();
  const ModuleCounts counts(tagging);
  const FoldedTree tree(tagging, counts);
  std::vector<Line> lines;
  std::vector<std::uint32_t> of_module(tagging.modules.size(),
                                       KernelGroups::kNone);
  KernelGroups groups;
  std::vector<std::pair<std::size_t, std::uint32_t>> around;  // depth, line
  tree.ForEachRow(ModuleTree::kRoot, {}, [&](const FoldedRow& row) {
    Line line;
    for (const ModuleId id : row.modules) {
      Add(report.modules[id], report, line.numbers);
    }
    if (line.numbers[0].calls + line.numbers[1].calls == 0) return;
    line.label = row.branch;
    line.label += row.depth == 0 ? kRootText : std::string_view(row.label);
    line.detail =
        Message("{}", Short{ClassOf(tagging, row.modules.front()), 70});
    if (row.modules.size() > 1) {
      line.detail += fmt::format(" ×{}", row.modules.size());
    }
    line.detail += FoundMark(tagging, row);
    const auto number = static_cast<std::uint32_t>(lines.size());
    for (const ModuleId id : row.modules) of_module[Index(id)] = number;
    while (!around.empty() && around.back().first >= row.depth) {
      around.pop_back();
    }
    groups.parents.push_back(around.empty() ? KernelGroups::kNone
                                            : around.back().second);
    around.emplace_back(row.depth, number);
    lines.push_back(std::move(line));
  });
  // A module without a row is in that of the module around it.
  for (std::size_t i = 1; i < of_module.size(); ++i) {
    if (of_module[i] != KernelGroups::kNone) continue;
    of_module[i] =
        of_module[Index(tagging.modules.Parent(MakeId<ModuleId>(i)))];
  }
  for (const ModuleId module : report.module_of_kernel) {
    groups.of_kernel.Add(module == kNo<ModuleId> ? KernelGroups::kNone
                                                 : of_module[Index(module)]);
  }
  const std::vector<Spread> spreads = SpreadsOf(profile, groups);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].spread = spreads[i];
  return lines;
}

std::vector<Line> RowLines(const ProfileReport& report) {
  std::vector<Line> lines;
  for (const ProfileRow& row : report.rows) {
    lines.push_back({Message("{}", Short{row.name, 70}),
                     Message("{}", Short{row.detail, 70}), row.numbers,
                     row.placed, true, row.spreads[0]});
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

// Numbers before the names of modules, classes, ...
class NumbersTable {
 public:
  NumbersTable(const ProfileReport& report, bool tree)
      : report_(report), tree_(tree) {}

  Table Make(std::string_view key, std::string_view detail) const {
    std::vector<std::string> heads;
    if (report_.two()) {
      heads = {ProfileUnit("A", report_), ProfileUnit("B", report_), "B - A",
               "B / A"};
    } else {
      heads = {ProfileUnit("self", report_)};
      if (tree_) heads.push_back(ProfileUnit("total", report_));
      heads.insert(heads.end(),
                   {"share", "calls", ProfileUnit("mean", report_)});
      if (has_spreads()) {
        heads.insert(heads.end(), {"p10", "p50", "p90", "max"});
      }
    }
    Table table;
    for (const std::string& head : heads) {
      table.columns.push_back({.heading = head,
                               .right = true,
                               .width = table.columns.empty() ? 10u : 11u});
    }
    for (const std::string_view head : {key, detail}) {
      table.columns.push_back({.heading = std::string(head),
                               .ragged = true,
                               .longest = std::string::npos});
    }
    return table;
  }

  Table::Row Row(const Line& line) const {
    const ProfileNumbers& first = line.numbers[0];
    const std::int64_t number = NumberOf(first);
    Table::Row row;
    if (report_.two()) {
      const std::int64_t second = NumberOf(line.numbers[1]);
      row = {ProfileNumber(number, report_), ProfileNumber(second, report_),
             ProfileNumber(second - number, report_),
             number == 0
                 ? "-"
                 : fmt::format("{:.2f}", static_cast<double>(second) /
                                             static_cast<double>(number))};
    } else {
      row = {ProfileNumber(first.self, report_)};
      if (tree_) row.emplace_back(ProfileNumber(first.total, report_));
      row.insert(row.end(),
                 {ProfileShare(number, report_.sides[0].total),
                  WithThousands(first.calls), Mean(number, first.calls)});
      if (has_spreads()) AddSpread(line.spread, row);
    }
    row.emplace_back(line.label);
    row.emplace_back(line.detail);
    return row;
  }

 private:
  bool has_spreads() const { return report_.sides[0].spread.runs > 1; }

  void AddSpread(const Spread& spread, Table::Row& row) const {
    for (const std::int64_t number :
         {spread.p10, spread.p50, spread.p90, spread.max}) {
      row.emplace_back(spread.runs == 0 ? "-" : ProfileNumber(number, report_));
    }
  }

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

  const ProfileReport& report_;
  const bool tree_;
};

void AddAdvice(const ProfileReport& report, const ProfileOptions& options,
               Result& result) {
  const double share = ShareNotInModel(report);
  if (share <= kMuchOutside) return;
  const KernelAdvice advice = ProfileAdvice(report, options);
  result.Line("\n{:.1f}% is in {} that are not in the model: {}", 100 * share,
              Ours{IsTable(report) ? "names" : "kernels"},
              Ours{UnplacedOperators(report, std::string(kNotInModel))});
  result.Line("  {}", advice.why);
  for (const std::string& step : advice.steps) result.Line("  {}", step);
}

void AddPlacement(const TaggedModel& model, const ProfileReport& report,
                  const ProfileOptions& options, Result& result) {
  const Placement& placement = report.placement;
  const std::int64_t total = report.sides[0].total;
  if (options.by != ProfileKey::kProvider) {
    if (!placement.has_fallbacks()) return;
    std::int64_t self = 0;
    std::uint64_t kernels = 0;
    for (const Placement::Fallback& fallback : placement.fallbacks) {
      self += fallback.self;
      kernels += fallback.kernels;
    }
    result.Line(
        "\n{} fell back to {}: {} of the time; --by provider shows them",
        Count(kernels, "kernel"), Placement::kCpu, ProfileShare(self, total));
    return;
  }
  if (!placement.is_mixed()) {
    if (!placement.providers.empty()) {
      result.Line("\nall kernels run on {}", placement.providers[0].name);
    }
    return;
  }
  result.Line("\nbetween providers: {}, {} of copies: {} ({})",
              Count(placement.borders, "value"),
              Count(placement.copy_calls, "call"),
              ProfileNumber(placement.copy_self, report) +
                  (report.measure.IsTime() ? " ms" : ""),
              ProfileShare(placement.copy_self, total));
  if (placement.fallbacks.empty()) return;
  result.Line("\non {}:", Placement::kCpu);
  Table table;
  table.columns = {
      {.heading = ProfileUnit("self", report), .right = true, .width = 10},
      {.heading = "share", .right = true, .width = 11},
      {.heading = "kernels", .right = true, .width = 11},
      {.heading = "module", .ragged = true}};
  constexpr std::size_t kMostFallbacks = 40;
  for (const Placement::Fallback& fallback : placement.fallbacks) {
    if (options.top != 0 && table.rows.size() == kMostFallbacks) break;
    table.rows.push_back(
        {ProfileNumber(fallback.self, report),
         ProfileShare(fallback.self, total), WithThousands(fallback.kernels),
         Message("{}", Short{FallbackName(model, fallback), 70}) +
             (fallback.whole ? "" : " (others in it do not)")});
  }
  result.Add(std::move(table));
}

}  // namespace

void AddProfileText(const TaggedModel& model, const ProfileReport& report,
                    const Profile& profile, const ProfileOptions& options,
                    Result& result) {
  const bool tree = options.by == ProfileKey::kModule;
  std::vector<Line> lines =
      tree ? TreeLines(model, report, profile) : RowLines(report);
  const std::size_t hidden = Hide(lines, options.top, tree);
  if (tree) {
    for (const ProfileRow& row : report.rows) {
      if (row.placed) continue;
      lines.push_back({row.name, "", row.numbers, false, true, row.spreads[0]});
    }
  }
  AddHead(report, result);
  const NumbersTable numbers(report, tree);
  Table table = numbers.Make(EnumToWord(kProfileKeyNames, options.by),
                             tree                              ? "class"
                             : options.by == ProfileKey::kNode ? "module"
                             : options.by == ProfileKey::kLine ? "code"
                                                               : "");
  Line rest;
  for (Line& line : lines) {
    if (!line.placed) line.detail = UnplacedOperators(report, line.label);
    if (line.shown) {
      table.rows.push_back(numbers.Row(line));
    } else {
      Add(line.numbers, report, rest.numbers);
    }
  }
  // In a tree, the rows above have it.
  rest.label = fmt::format("{}; --top 0 shows all", Count(hidden, "other row"));
  if (hidden > 0 && !tree) table.rows.push_back(numbers.Row(rest));
  Line all;
  all.label = "all";
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    const ProfileSide& side = report.sides[i];
    all.numbers[i] = {side.total, side.total, side.calls};
  }
  all.spread = report.sides[0].spread;
  table.rows.push_back(numbers.Row(all));
  result.Add(std::move(table));
  if (hidden > 0 && tree) {
    result.Line("\n{} not shown; --top 0 shows all", Count(hidden, "row"));
  }
  AddPlacement(model, report, options, result);
  AddAdvice(report, options, result);
}

}  // namespace onnx_tag
