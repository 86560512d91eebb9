#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "commands/commands.h"
#include "commands/profile/kernels.h"
#include "commands/read/modules.h"
#include "commands/read/nodes.h"
#include "commands/read/tagged_model.h"
#include "render/render.h"
#include "tagging/version.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using profile::KernelId;
using profile::Profile;

// Times are microseconds; other numbers are counted in Measure::parts.
struct ProfileNumbers {
  void Add(const ProfileNumbers& other, const profile::Measure& measure) {
    self = measure.Add(self, other.self);
    total = measure.Add(total, other.total);
    calls += other.calls;
  }

  std::int64_t self = 0;
  std::int64_t total = 0;  // with all below; of modules
  std::uint64_t calls = 0;
};

// The first profile, and the one beside it.
using ProfilePair = std::array<ProfileNumbers, 2>;

struct ProfileRow {
  std::string name;    // the module, class, ... or "[not in the model]"
  std::string detail;  // a module's class, a node's module
  bool placed = false;
  ModuleId module = kNo<ModuleId>;
  ProfilePair numbers;
};

// A kernel that no node could be found for.
struct UnplacedKernel {
  std::string name;
  std::string op;
  std::size_t side = 0;
  std::int64_t self = 0;
  std::uint64_t calls = 0;
  std::string why;  // the row that has it
};

// Modules around a kernel, outermost first, the operator last.
struct ProfileStack {
  std::vector<std::string> frames;
  std::int64_t self = 0;
};

// One file.
struct ProfileSide {
  std::string file;
  std::uint64_t model_runs = 0;
  std::uint64_t calls = 0;
  std::int64_t total = 0;  // of what ran at top level
  // Of the runs, what no kernel took; none if it is not known.
  std::optional<std::int64_t> outside;
  bool cut_off = false;
};

struct ProfileReport {
  bool two() const { return sides.size() > 1; }

  std::string model;
  std::string tags_from;
  profile::Measure measure;
  std::vector<ProfileSide> sides;  // one or two
  std::vector<ProfileRow> rows;    // by self; they add up to the total
  // With --by module: of each module, calls with all below.
  IdVector<ModuleId, ProfilePair> modules;
  std::vector<UnplacedKernel> unplaced;
  std::vector<ProfileStack> stacks;  // of the first side
};

class RollUp {
 public:
  RollUp(const TaggedModel& model, const ProfileOptions& options)
      : model_(model), options_(options), finder_(model) {
    report_.model = model.about().file;
    report_.tags_from = model.source();
  }

  // The first, then the one beside it.
  void Add(Profile& profile, const std::string& file) {
    IdVector<KernelId, KernelPlaces::Place> places;
    for (const profile::Kernel& kernel : profile.kernels) {
      places.Add(finder_.Find(kernel));
    }
    report_.measure = profile.measure;
    ProfileSide side;
    side.file = file;
    side.total = CountSelf(profile, places);
    side.model_runs = profile.model_runs;
    side.calls = profile.runs.size() * profile.calls_each;
    side.cut_off = profile.cut_off;
    side.outside = Outside(profile, side.total);
    report_.sides.push_back(std::move(side));
    const IdVector<KernelId, Sum> sums = SumKernels(profile);
    for (const KernelId id : AllIds<KernelId>(profile.kernels.size())) {
      if (sums[id].calls == 0) continue;
      AddKernel(profile.kernels[id], places[id], sums[id]);
    }
  }

  ProfileReport Take() {
    for (auto& [key, row] : rows_) report_.rows.push_back(std::move(row));
    std::stable_sort(report_.rows.begin(), report_.rows.end(),
                     [](const ProfileRow& a, const ProfileRow& b) {
                       return a.numbers[0].self > b.numbers[0].self;
                     });
    if (options_.by == ProfileKey::kModule) AddTotals();
    return std::move(report_);
  }

 private:
  struct Sum {
    std::int64_t self = 0;
    std::uint64_t calls = 0;
  };

  bool IsInner(const KernelPlaces::Place& place) const {
    if (place.kind == KernelPlaces::Kind::kNone) return false;
    const std::string_view graph = model_.nodes().Graph(place.node);
    return !graph.empty() && !graph.starts_with("fn:");
  }

  // What is not time does not contain that of others.
  std::int64_t CountSelf(
      Profile& profile,
      const IdVector<KernelId, KernelPlaces::Place>& places) const {
    if (profile.measure.IsTime()) {
      return CountSelfTimes(
          profile,
          [&](KernelId id) { return RunsOthers(profile.kernels[id].op); },
          [&](KernelId id) { return IsInner(places[id]); });
    }
    std::int64_t total = 0;
    for (const profile::KernelRun& run : profile.runs) {
      total = profile.measure.Add(total, run.self);
    }
    return total;
  }

  // Kernels that run side by side can take longer than the runs. A profile
  // that was cut off has kernels of a run that it does not have.
  static std::optional<std::int64_t> Outside(const Profile& profile,
                                             std::int64_t kernels) {
    if (!profile.measure.IsTime() || profile.cut_off) return std::nullopt;
    std::int64_t runs = 0;
    for (const profile::ModelRun& run : profile.run_times) runs += run.duration;
    if (runs < kernels || runs == 0) return std::nullopt;
    return runs - kernels;
  }

  static IdVector<KernelId, Sum> SumKernels(const Profile& profile) {
    IdVector<KernelId, Sum> sums(profile.kernels.size());
    for (const profile::KernelRun& run : profile.runs) {
      Sum& sum = sums[run.kernel];
      sum.self = profile.measure.Add(sum.self, run.self);
      sum.calls += profile.calls_each;
    }
    return sums;
  }

  void AddKernel(const profile::Kernel& kernel,
                 const KernelPlaces::Place& place, const Sum& sum) {
    const std::size_t side = report_.sides.size() - 1;
    ProfileRow row = RowOf(kernel, place);
    if (side == 0) {
      ProfileStack stack{StackOf(row, place), sum.self};
      stack.frames.push_back(kernel.op.empty() ? kernel.name : kernel.op);
      report_.stacks.push_back(std::move(stack));
    }
    if (!row.placed) {
      report_.unplaced.push_back(
          {kernel.name, kernel.op, side, sum.self, sum.calls, row.name});
    }
    const auto at =
        rows_.try_emplace(std::pair(!row.placed, row.name), row).first;
    at->second.numbers[side].Add({sum.self, sum.self, sum.calls},
                                 report_.measure);
  }

  ProfileRow RowOf(const profile::Kernel& kernel,
                   const KernelPlaces::Place& place) const {
    ProfileRow row;
    if (place.kind == KernelPlaces::Kind::kNone) {
      row.name = "[not in the model]";
      return row;
    }
    const Tagging& tagging = model_.tagging();
    const Tag& tag = tagging.tags[place.node];
    if (place.kind == KernelPlaces::Kind::kSeveral) {
      row.name = "[one of several nodes]";
      return row;
    }
    if (!tag.tagged() && options_.by != ProfileKey::kNode &&
        options_.by != ProfileKey::kLine) {
      row.name = "[untagged]";
      return row;
    }
    row.placed = true;
    row.module = tag.module;
    Name(kernel, place.node, tag, row);
    return row;
  }

  void Name(const profile::Kernel& kernel, NodeId node, const Tag& tag,
            ProfileRow& row) const {
    const Tagging& tagging = model_.tagging();
    const std::string module =
        tag.tagged() ? tagging.modules.Shown(tag.module) : "-";
    switch (options_.by) {
      case ProfileKey::kModule:
        row.name = module;
        row.detail = ClassOf(tagging, tag.module);
        return;
      case ProfileKey::kClass:
        row.name = ClassOf(tagging, tag.module);
        if (row.name.empty()) row.name = "[class unknown]";
        return;
      case ProfileKey::kLayer:
        row.name = LayerOf(module, tagging.roles[tag.role].layer);
        return;
      case ProfileKey::kRole: {
        const Role& role = tagging.roles[tag.role];
        row.name = EnumToWord(kRoleTypeNames, role.type);
        if (!role.component.empty()) row.name += "/" + role.component;
        return;
      }
      case ProfileKey::kNode:
        row.name =
            fmt::format("{} {}", model_.nodes().Address(node), kernel.name);
        row.detail = module;
        return;
      case ProfileKey::kLine:
        row.name = "[no line]";
        if (const std::optional<SourceLine> line = tagging.lines.Of(node)) {
          row.name = fmt::format("{}:{}", line->file, line->line);
          row.detail = line->text;
        }
        return;
    }
  }

  // "encoder.layer.3": encoders and decoders count alike, so the list they
  // count in is named, too.
  static std::string LayerOf(const std::string& path, std::int32_t layer) {
    if (layer < 0) return "[no layer]";
    const std::string index = std::to_string(layer);
    std::string prefix;
    for (const std::string_view atom : Split(path, '.')) {
      if (!prefix.empty()) prefix += '.';
      prefix += atom;
      if (atom == index) return prefix;
    }
    return fmt::format("layer {}", layer);
  }

  // The modules around, outermost first: "BertModel", "encoder", "layer.0".
  std::vector<std::string> StackOf(const ProfileRow& row,
                                   const KernelPlaces::Place& place) const {
    std::vector<std::string> frames;
    const Tagging& tagging = model_.tagging();
    const Tag tag = place.kind == KernelPlaces::Kind::kNode
                        ? tagging.tags[place.node]
                        : Tag();
    if (!tag.tagged()) return {row.placed ? "[untagged]" : row.name};
    for (ModuleId id = tag.module; id != ModuleTree::kRoot;
         id = tagging.modules.Parent(id)) {
      std::string atom(tagging.modules.Atom(id));
      const bool index = atom.find_first_not_of("0123456789") == atom.npos;
      const ModuleId parent = tagging.modules.Parent(id);
      if (index && parent != ModuleTree::kRoot) {
        atom = fmt::format("{}.{}", tagging.modules.Atom(parent), atom);
        id = parent;
      }
      frames.push_back(std::move(atom));
    }
    frames.emplace_back(tagging.root.name.empty()
                            ? kRootText
                            : std::string_view(tagging.root.name));
    std::reverse(frames.begin(), frames.end());
    return frames;
  }

  // Of each module with all below it.
  void AddTotals() {
    const ModuleTree& tree = model_.tagging().modules;
    report_.modules.resize(tree.size());
    for (const ProfileRow& row : report_.rows) {
      if (row.placed) report_.modules[row.module] = row.numbers;
    }
    for (std::size_t i = tree.size(); --i > 0;) {
      const ProfilePair& below = report_.modules[MakeId<ModuleId>(i)];
      ProfilePair& parent = report_.modules[tree.Parent(MakeId<ModuleId>(i))];
      for (std::size_t side = 0; side < parent.size(); ++side) {
        parent[side].Add({0, below[side].total, below[side].calls},
                         report_.measure);
      }
    }
    for (ProfileRow& row : report_.rows) {
      if (!row.placed) continue;
      for (std::size_t side = 0; side < row.numbers.size(); ++side) {
        row.numbers[side].total = report_.modules[row.module][side].total;
      }
    }
  }

  const TaggedModel& model_;
  const ProfileOptions& options_;
  const KernelPlaces finder_;
  ProfileReport report_;
  std::map<std::pair<bool, std::string>, ProfileRow> rows_;
};

// ---------------------------------------------------------------- numbers
std::string Milliseconds(std::int64_t microseconds) {
  return fmt::format("{:.3f}", static_cast<double>(microseconds) / 1000.0);
}

double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

// Rounding to microseconds may leave a holder a few less than nothing.
std::uint64_t AtLeastNothing(std::int64_t time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0));
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

// ---------------------------------------------------------------- for people
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

// "ReorderInput, Cast": the kernels without a node in the row `why`.
std::string UnplacedOperators(const ProfileReport& report,
                              const std::string& why) {
  std::map<std::string, std::int64_t> times;
  for (const UnplacedKernel& kernel : report.unplaced) {
    if (kernel.why == why) times[kernel.op] += kernel.self;
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
};

void Add(const ProfilePair& from, const ProfileReport& report,
         ProfilePair& to) {
  for (std::size_t side = 0; side < to.size(); ++side) {
    to[side].Add(from[side], report.measure);
  }
}

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
    line.label = row.branch;
    line.label += row.depth == 0 ? kRootText : std::string_view(row.label);
    line.detail =
        Message("{}", Short{ClassOf(tagging, row.modules.front()), 70});
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
    lines.push_back({Message("{}", Short{row.name, 70}),
                     Message("{}", Short{row.detail, 70}), row.numbers,
                     row.placed});
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
    }
    row.emplace_back(line.label);
    row.emplace_back(line.detail);
    return row;
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

  const ProfileReport& report_;
  const bool tree_;
};

void AddText(const TaggedModel& model, const ProfileReport& report,
             const ProfileOptions& options, Result& result) {
  const bool tree = options.by == ProfileKey::kModule;
  std::vector<Line> lines = tree ? TreeLines(model, report) : RowLines(report);
  const std::size_t hidden = Hide(lines, options.top, tree);
  if (tree) {
    for (const ProfileRow& row : report.rows) {
      if (row.placed) continue;
      lines.push_back({row.name, "", row.numbers, false});
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
  table.rows.push_back(numbers.Row(all));
  result.Add(std::move(table));
  if (hidden > 0 && tree) {
    result.Line("\n{} not shown; --top 0 shows all", Count(hidden, "row"));
  }
}

// ---------------------------------------------------------------- for programs
// Of a time "self_us", of another number "self".
std::string KeyOf(std::string_view key, const ProfileReport& report) {
  return std::string(key) + (report.measure.IsTime() ? "_us" : "");
}

Datum::Members SideMembers(const ProfileSide& side,
                           const ProfileReport& report) {
  Datum::Members members = {{"profile", side.file},
                            {"runs", side.model_runs},
                            {"calls", side.calls},
                            {KeyOf("total", report), side.total}};
  if (report.measure.IsTime()) {
    members.emplace_back("outside_us",
                         side.outside ? Datum(*side.outside) : Datum());
  }
  members.emplace_back("cut_off", side.cut_off);
  return members;
}

Datum::Members NumberMembers(const ProfileRow& row, std::size_t side,
                             const ProfileReport& report) {
  const ProfileNumbers& numbers = row.numbers[side];
  Datum::Members members;
  if (!report.modules.empty()) {
    members.emplace_back(KeyOf("total", report), numbers.total);
  }
  members.emplace_back(KeyOf("self", report), numbers.self);
  members.emplace_back(
      "share", Datum::Share(ShareOf(numbers.self, report.sides[side].total)));
  members.emplace_back("calls", numbers.calls);
  return members;
}

Datum RowValue(const ProfileRow& row, ProfileKey by,
               const ProfileReport& report) {
  Datum value = Datum::Object({{"name", row.name}, {"placed", row.placed}});
  if (by == ProfileKey::kModule) {
    value.Set("class", Datum::OrNull(row.detail));
  } else if (by == ProfileKey::kNode) {
    value.Set("module",
              row.detail == "-" ? Datum() : Datum::OrNull(row.detail));
  } else if (by == ProfileKey::kLine) {
    value.Set("text", Datum::OrNull(row.detail));
  }
  value.Add(NumberMembers(row, 0, report));
  if (report.two()) {
    value.Set("against", Datum::Object(NumberMembers(row, 1, report)));
  }
  return value;
}

Datum UnplacedValue(const UnplacedKernel& kernel, const ProfileReport& report) {
  Datum value = Datum::Object(
      {{"name", kernel.name}, {"op", kernel.op}, {"why", kernel.why}});
  if (report.two()) value.Set("profile", report.sides[kernel.side].file);
  value.Add({{KeyOf("self", report), kernel.self}, {"calls", kernel.calls}});
  return value;
}

Datum Data(const std::shared_ptr<const ProfileReport>& report, ProfileKey by) {
  Datum data = Datum::Object({{"model", report->model},
                              {"tags_from", report->tags_from},
                              {"by", EnumToWord(kProfileKeyNames, by)},
                              {"measure", report->measure.name},
                              {"parts", report->measure.parts}});
  data.Add(SideMembers(report->sides[0], *report));
  if (report->two()) {
    data.Set("against", Datum::Object(SideMembers(report->sides[1], *report)));
  }
  data.Add({{"rows", Datum::Stream([report, by](const Datum::Use& use) {
               for (const auto& row : report->rows) {
                 use(RowValue(row, by, *report));
               }
             })},
            {"unplaced", Datum::Stream([report](const Datum::Use& use) {
               for (const auto& kernel : report->unplaced) {
                 use(UnplacedValue(kernel, *report));
               }
             })}});
  return data;
}

// ---------------------------------------------------------------- stacks
// Stacks that are equal, once.
std::map<std::vector<std::string>, std::uint64_t> SumStacks(
    const ProfileReport& report) {
  std::map<std::vector<std::string>, std::uint64_t> sums;
  for (const ProfileStack& stack : report.stacks) {
    sums[stack.frames] += AtLeastNothing(stack.self);
  }
  return sums;
}

// Lines of Brendan Gregg's format: frames between semicolons, then a number.
std::string Folded(const ProfileReport& report) {
  std::string text;
  for (const auto& [frames, time] : SumStacks(report)) {
    std::vector<std::string> safe;
    for (const std::string& frame : frames) {
      safe.push_back(Message("{}", Short{frame, 200}));
      std::replace(safe.back().begin(), safe.back().end(), ';', ':');
    }
    text += fmt::format("{} {}\n", Join(safe, ";"), time);
  }
  return text;
}

std::string Speedscope(const ProfileReport& report) {
  Datum::List frames, samples, weights;
  std::unordered_map<std::string, std::uint64_t> index;
  std::uint64_t end = 0;
  for (const auto& [stack, time] : SumStacks(report)) {
    end += time;
    Datum::List sample;
    for (const std::string& frame : stack) {
      const auto [at, added] = index.try_emplace(frame, frames.size());
      if (added) frames.push_back(Datum::Object({{"name", frame}}));
      sample.emplace_back(at->second);
    }
    samples.emplace_back(std::move(sample));
    weights.emplace_back(time);
  }
  const Datum profile = Datum::Object(
      {{"type", "sampled"},
       {"name", report.model},
       {"unit", report.measure.IsTime() ? "microseconds" : "none"},
       {"startValue", 0u},
       {"endValue", end},
       {"samples", std::move(samples)},
       {"weights", std::move(weights)}});
  return JsonText(Datum::Object(
             {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
              {"exporter", fmt::format("onnx-tag {}", kVersion)},
              {"name", report.model},
              {"shared", Datum::Object({{"frames", std::move(frames)}})},
              {"profiles", Datum::List{profile}}})) +
         "\n";
}

}  // namespace

Result RunProfile(const ProfileOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < model.tagging().tags.size(); ++i) {
    all.push_back(MakeId<NodeId>(i));
  }
  WarnOfGuesses(model, all, options.source, terminal);
  std::vector<Profile> profiles;
  std::vector<std::string> files = {options.profile.file};
  if (!options.against.empty()) files.push_back(options.against);
  for (const std::string& file : files) {
    Profile& profile = profiles.emplace_back(ReadProfileFile(
        {file, options.profile.measure, options.profile.layers}));
    profile::SkipRuns(profile, options.skip_runs);
    if (!profile.cut_off) continue;
    terminal.Note("{}: ends in the middle of an event; that event is ignored",
                  file);
  }
  if (profiles.size() > 1) profile::MakeComparable(profiles[0], profiles[1]);
  RollUp roll_up(model, options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    roll_up.Add(profiles[i], files[i]);
  }
  const auto report = std::make_shared<const ProfileReport>(roll_up.Take());
  Result result;
  if (options.stacks != StackFormat::kNone) {
    result.document = options.stacks == StackFormat::kFolded
                          ? Folded(*report)
                          : Speedscope(*report);
    return result;
  }
  AddText(model, *report, options, result);
  result.data = Data(report, options.by);
  return result;
}

}  // namespace onnx_tag
