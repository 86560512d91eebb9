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
#include "commands/profile/placement.h"
#include "commands/read/modules.h"
#include "commands/read/nodes.h"
#include "commands/read/tagged_model.h"
#include "profile/run_spreads.h"
#include "render/render.h"
#include "tagging/version.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using profile::KernelGroups;
using profile::KernelId;
using profile::Profile;
using profile::Spread;

constexpr std::string_view kNotInModel = "[not in the model]";

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
  std::string name;      // the module, class, ... or "[not in the model]"
  std::string detail;    // a module's class, a node's module
  std::string provider;  // of a node
  bool placed = false;
  ModuleId module = kNo<ModuleId>;
  ProfilePair numbers;
  std::array<Spread, 2> spreads;  // of modules: with all below
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
  Spread spread;  // of all kernels
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
  Placement placement;  // of the first side
  // Of the first side: the module of each kernel; kNo if it has none.
  IdVector<KernelId, ModuleId> module_of_kernel;
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
    const IdVector<KernelId, KernelSum> sums = SumKernels(profile);
    IdVector<KernelId, ProfileRow*> rows;
    for (const KernelId id : AllIds<KernelId>(profile.kernels.size())) {
      rows.Add(sums[id].calls == 0
                   ? nullptr
                   : AddKernel(profile.kernels[id], places[id], sums[id]));
    }
    AddSpreads(profile, rows);
    if (report_.two()) return;
    report_.placement = PlacementOf(model_, profile, places, sums);
    for (const ProfileRow* row : rows) {
      report_.module_of_kernel.Add(
          row != nullptr && row->placed ? row->module : kNo<ModuleId>);
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
  // Group 0 is all kernels. With --by module, a group for each module comes
  // next, then the rows without a module.
  void AddSpreads(const Profile& profile,
                  const IdVector<KernelId, ProfileRow*>& rows) {
    const bool tree = options_.by == ProfileKey::kModule;
    const ModuleTree& modules = model_.tagging().modules;
    KernelGroups groups;
    groups.parents = {KernelGroups::kNone};
    if (tree) {
      for (std::size_t i = 0; i < modules.size(); ++i) {
        const auto id = MakeId<ModuleId>(i);
        groups.parents.push_back(i == 0 ? 0 : GroupOf(modules.Parent(id)));
      }
    }
    std::map<const ProfileRow*, std::uint32_t> of_row;
    for (const ProfileRow* row : rows) {
      if (row == nullptr) {
        groups.of_kernel.Add(KernelGroups::kNone);
      } else if (tree && row->placed) {
        groups.of_kernel.Add(GroupOf(row->module));
        of_row.emplace(row, GroupOf(row->module));
      } else {
        const auto [at, added] = of_row.try_emplace(
            row, static_cast<std::uint32_t>(groups.parents.size()));
        if (added) groups.parents.push_back(0);
        groups.of_kernel.Add(at->second);
      }
    }
    const std::vector<Spread> spreads = SpreadsOf(profile, groups);
    const std::size_t side = report_.sides.size() - 1;
    report_.sides[side].spread = spreads[0];
    for (auto& [key, row] : rows_) {
      const auto at = of_row.find(&row);
      if (at != of_row.end()) row.spreads[side] = spreads[at->second];
    }
  }
  static std::uint32_t GroupOf(ModuleId module) {
    return static_cast<std::uint32_t>(Index(module)) + 1;
  }

  // What is not time does not contain that of others.
  std::int64_t CountSelf(
      Profile& profile,
      const IdVector<KernelId, KernelPlaces::Place>& places) const {
    if (profile.measure.IsTime()) {
      return CountSelfTimes(
          profile,
          [&](KernelId id) { return RunsOthers(profile.kernels[id].op); },
          [&](KernelId id) { return finder_.IsInner(places[id]); });
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

  static IdVector<KernelId, KernelSum> SumKernels(const Profile& profile) {
    IdVector<KernelId, KernelSum> sums(profile.kernels.size());
    for (const profile::KernelRun& run : profile.runs) {
      KernelSum& sum = sums[run.kernel];
      sum.self = profile.measure.Add(sum.self, run.self);
      sum.calls += profile.calls_each;
    }
    return sums;
  }

  ProfileRow* AddKernel(const profile::Kernel& kernel,
                        const KernelPlaces::Place& place,
                        const KernelSum& sum) {
    const std::size_t side = report_.sides.size() - 1;
    ProfileRow row = RowOf(kernel, place);
    if (side == 0) {
      ProfileStack stack{StackOf(row, place), sum.self};
      stack.frames.push_back(kernel.op.empty() ? kernel.name : kernel.op);
      report_.stacks.push_back(std::move(stack));
    }
    const bool in_model = place.kind != KernelPlaces::Kind::kNone;
    if (!row.placed || !in_model) {
      report_.unplaced.push_back(
          {kernel.name, kernel.op, side, sum.self, sum.calls,
           in_model ? row.name : std::string(kNotInModel)});
    }
    const auto at =
        rows_.try_emplace(std::pair(!row.placed, row.name), row).first;
    at->second.numbers[side].Add({sum.self, sum.self, sum.calls},
                                 report_.measure);
    return &at->second;
  }

  ProfileRow RowOf(const profile::Kernel& kernel,
                   const KernelPlaces::Place& place) const {
    ProfileRow row;
    row.provider = kernel.provider;
    // The runtime says these two, also of kernels that the model lacks.
    if (options_.by == ProfileKey::kProvider) {
      row.placed = !kernel.provider.empty();
      row.name = row.placed ? kernel.provider : "[not recorded]";
      return row;
    }
    if (options_.by == ProfileKey::kOp && !kernel.op.empty()) {
      row.placed = true;
      row.name = kernel.op;
      return row;
    }
    if (place.kind == KernelPlaces::Kind::kNone) {
      row.name = kNotInModel;
      return row;
    }
    const Tagging& tagging = model_.tagging();
    const Tag& tag = tagging.tags[place.node];
    if (place.kind == KernelPlaces::Kind::kSeveral) {
      row.name = "[one of several nodes]";
      return row;
    }
    if (!tag.tagged() && options_.by != ProfileKey::kNode &&
        options_.by != ProfileKey::kLine && options_.by != ProfileKey::kOp) {
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
            fmt::format("{} {}", model_.model().Address(node), kernel.name);
        row.detail = module;
        return;
      case ProfileKey::kLine:
        row.name = "[no line]";
        if (const std::optional<SourceLine> line = tagging.lines.Of(node)) {
          row.name = fmt::format("{}:{}", line->file, line->line);
          row.detail = line->text;
        }
        return;
      case ProfileKey::kOp:
        row.name = model_.model().OpType(node);
        return;
      case ProfileKey::kProvider:
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

// ---------------------------------------------------------------- advice
// Of the first side: the kernels that the model does not have.
double ShareNotInModel(const ProfileReport& report) {
  std::int64_t self = 0;
  for (const UnplacedKernel& kernel : report.unplaced) {
    if (kernel.side != 0 || kernel.why != kNotInModel) continue;
    self = report.measure.Add(self, kernel.self);
  }
  return report.measure.level ? 0.0 : ShareOf(self, report.sides[0].total);
}

// Why kernels are not in the model, and what to do. The last lines are
// commands.
struct KernelAdvice {
  std::string why;
  std::vector<std::string> steps;
};

// A table has names and numbers, but neither providers nor operators.
bool IsTable(const ProfileReport& report) {
  return report.placement.providers.empty() &&
         std::all_of(
             report.unplaced.begin(), report.unplaced.end(),
             [](const UnplacedKernel& kernel) { return kernel.op.empty(); });
}

KernelAdvice ProfileAdvice(const ProfileReport& report,
                           const ProfileOptions& options) {
  const auto& providers = report.placement.providers;
  if (IsTable(report)) {
    return {"the table is of another version of the model, or of another tool",
            {}};
  }
  if (!providers.empty() && providers.front().name == "TensorRT") {
    return {"TensorRT made layers of several nodes, with names of their own",
            {"trtexec --onnx=" + options.model +
                 " --profilingVerbosity=detailed --exportProfile=" +
                 options.profile.file + " --exportLayerInfo=layers.json",
             fmt::format("onnx-tag profile {} {} --layers layers.json",
                         options.model, options.profile.file)}};
  }
  std::string base = options.model;
  if (base.ends_with(".onnx")) base.resize(base.size() - 5);
  return {
      "ONNX Runtime made them while it optimized the model; save that model "
      "(Python: options.optimized_model_filepath = \"" +
          base + ".opt.onnx\") and copy the tags to it",
      {fmt::format("onnx-tag transfer {} {}.opt.onnx", options.model, base),
       fmt::format("onnx-tag profile {}.opt.tagged.onnx {}", base,
                   options.profile.file)}};
}

// Above this share of the time, a row without modules needs an explanation.
constexpr double kMuch = 0.05;

void AddAdvice(const ProfileReport& report, const ProfileOptions& options,
               Result& result) {
  const double share = ShareNotInModel(report);
  if (share <= kMuch) return;
  const KernelAdvice advice = ProfileAdvice(report, options);
  result.Line("\n{:.1f}% is in {} that are not in the model: {}", 100 * share,
              Ours{IsTable(report) ? "names" : "kernels"},
              Ours{UnplacedOperators(report, std::string(kNotInModel))});
  result.Line("  {}", advice.why);
  for (const std::string& step : advice.steps) result.Line("  {}", step);
}

// ---------------------------------------------------------------- placement
std::string FallbackName(const TaggedModel& model,
                         const Placement::Fallback& fallback) {
  if (fallback.module == kNo<ModuleId>) return "[no module]";
  return model.tagging().modules.Shown(fallback.module);
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

void AddText(const TaggedModel& model, const ProfileReport& report,
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

// ---------------------------------------------------------------- for programs
// Of a time "self_us", of another number "self".
std::string KeyOf(std::string_view key, const ProfileReport& report) {
  return std::string(key) + (report.measure.IsTime() ? "_us" : "");
}

// What runs took; null if runs are not known.
Datum SpreadValue(const Spread& spread, const ProfileReport& report) {
  if (spread.runs == 0) return {};
  return Datum::Object({{"runs", spread.runs},
                        {KeyOf("p10", report), spread.p10},
                        {KeyOf("p50", report), spread.p50},
                        {KeyOf("p90", report), spread.p90},
                        {KeyOf("max", report), spread.max},
                        {"exact", spread.exact}});
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
  members.emplace_back("per_run", SpreadValue(side.spread, report));
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
  members.emplace_back("per_run", SpreadValue(row.spreads[side], report));
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
    value.Set("provider", Datum::OrNull(row.provider));
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

// Null if the profile does not say where kernels ran.
Datum PlacementValue(const TaggedModel& model, const ProfileReport& report) {
  const Placement& placement = report.placement;
  if (placement.providers.empty()) return {};
  const std::int64_t total = report.sides[0].total;
  Datum::List providers;
  for (const Placement::Provider& provider : placement.providers) {
    providers.push_back(Datum::Object(
        {{"name", provider.name},
         {"kernels", provider.kernels},
         {"calls", provider.calls},
         {KeyOf("self", report), provider.self},
         {"share", Datum::Share(ShareOf(provider.self, total))}}));
  }
  Datum::List fallbacks;
  for (const Placement::Fallback& fallback : placement.fallbacks) {
    fallbacks.push_back(Datum::Object(
        {{"module", fallback.module == kNo<ModuleId>
                        ? Datum()
                        : Datum(FallbackName(model, fallback))},
         {"whole", fallback.whole},
         {"kernels", fallback.kernels},
         {KeyOf("self", report), fallback.self},
         {"share", Datum::Share(ShareOf(fallback.self, total))}}));
  }
  return Datum::Object(
      {{"providers", std::move(providers)},
       {"borders", placement.borders},
       {"copies",
        Datum::Object({{"calls", placement.copy_calls},
                       {KeyOf("self", report), placement.copy_self}})},
       {"cpu_fallbacks", std::move(fallbacks)}});
}

Datum NotInModelValue(const ProfileReport& report,
                      const ProfileOptions& options) {
  const double share = ShareNotInModel(report);
  Datum value = Datum::Object({{"share", Datum::Share(share)}});
  const bool much = share > kMuch;
  const KernelAdvice advice =
      much ? ProfileAdvice(report, options) : KernelAdvice();
  value.Set("why", Datum::OrNull(advice.why));
  value.Set("commands", Datum(advice.steps));
  return value;
}

Datum Data(const TaggedModel& model,
           const std::shared_ptr<const ProfileReport>& report,
           const ProfileOptions& options) {
  const ProfileKey by = options.by;
  Datum data = Datum::Object({{"model", report->model},
                              {"tags_from", report->tags_from},
                              {"by", EnumToWord(kProfileKeyNames, by)},
                              {"measure", report->measure.name},
                              {"parts", report->measure.parts}});
  data.Add(SideMembers(report->sides[0], *report));
  if (report->two()) {
    data.Set("against", Datum::Object(SideMembers(report->sides[1], *report)));
  }
  data.Set("placement", PlacementValue(model, *report));
  data.Set("not_in_model", NotInModelValue(*report, options));
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
  if (Result refused; !MayRestOn(all, model, options.model, options.source,
                                 terminal, refused)) {
    return refused;
  }
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
  AddText(model, *report, profiles.front(), options, result);
  result.data = Data(model, report, options);
  return result;
}

}  // namespace onnx_tag
