// What a profile says, for people and for programs.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "app/commands/profile/kernels.h"
#include "app/commands/profile/profile_report.h"
#include "app/commands/read/modules.h"
#include "app/render/render.h"
#include "generated/version.h"

namespace onnx_tag {
namespace {

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
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? "-" + WithThousands(0 - bits) : WithThousands(bits);
}

std::string ProfileShare(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f} %", 100.0 * ShareOf(part, whole));
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

void Add(const ProfilePair& from, const ProfileReport& report,
         ProfilePair& to) {
  for (std::size_t side = 0; side < to.size(); ++side) {
    to[side].Add(from[side], report.measure);
  }
}

// The rows of the folded tree, parents first: their names are branches.
std::vector<ProfileRow> TreeRows(const TaggedModel& model,
                                 const ProfileReport& report) {
  const Tagging& tagging = model.tagging();
  const ModuleCounts counts(tagging);
  std::vector<ProfileRow> lines;
  const auto add = [&](const FoldedRow& row) {
    ProfileRow line;
    for (const ModuleId id : row.modules) {
      Add(report.modules[id], report, line.numbers);
    }
    if (line.numbers[0].calls + line.numbers[1].calls == 0) return;
    line.label = {
        row.branch,
        Message("{}", Short{ClassOf(tagging, row.modules.front()), 70})};
    line.label.name += row.depth == 0 ? kRootText : std::string_view(row.label);
    if (row.modules.size() > 1) {
      line.label.detail += fmt::format(" ×{}", row.modules.size());
    }
    line.label.detail += FoundMark(tagging, row);
    lines.push_back(std::move(line));
  };
  FoldedTree(tagging, counts).ForEachRow(ModuleTree::kRoot, {}, add);
  return lines;
}

// Hides all but the `top` largest. In a tree, what holds a large row is at
// least as large.
std::size_t Hide(std::vector<ProfileRow>& lines, std::uint64_t top, bool tree) {
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
    if (!lines[order[i]].label.placed) continue;
    lines[order[i]].shown = false;
    ++hidden;
  }
  return hidden;
}

// Per run of the model; per call if runs are not recorded.
std::string Mean(std::int64_t number, std::uint64_t calls,
                 const ProfileReport& report) {
  const std::uint64_t recorded = report.sides[0].model_runs;
  const std::uint64_t runs = recorded > 0 ? recorded : calls;
  if (report.measure.level || runs == 0) return "-";
  return ProfileNumber(number / static_cast<std::int64_t>(runs), report);
}

// What people see of a row: numbers before the name of a module, a class, ...
Facts TextFacts(const ProfileRow& row, std::string_view by,
                const ProfileReport& report) {
  const bool tree = !report.modules.empty();
  const auto number_of = [&](const ProfileNumbers& numbers) {
    return tree ? numbers.total : numbers.self;
  };
  const ProfileNumbers& first = row.numbers[0];
  const std::int64_t number = number_of(first);
  Facts facts;
  const auto add = [&](std::string_view heading, std::string text) {
    facts.push_back(
        {NumberColumn("", heading, facts.empty() ? 10 : 11), std::move(text)});
  };
  const auto add_number = [&](std::string_view heading, std::int64_t value) {
    add(ProfileUnit(heading, report), ProfileNumber(value, report));
  };
  if (report.two()) {
    const std::int64_t second = number_of(row.numbers[1]);
    add_number("A", number);
    add_number("B", second);
    add("B - A", ProfileNumber(second - number, report));
    add("B / A", number == 0
                     ? "-"
                     : fmt::format("{:.2f}", static_cast<double>(second) /
                                                 static_cast<double>(number)));
  } else {
    add_number("self", first.self);
    if (tree) add_number("total", first.total);
    add("share", ProfileShare(number, report.sides[0].total));
    add("calls", WithThousands(first.calls));
    add(ProfileUnit("mean", report), Mean(number, first.calls, report));
  }
  const auto add_text = [&](std::string_view heading, const std::string& text) {
    facts.push_back({{.heading = std::string(heading),
                      .ragged = true,
                      .longest = std::string::npos},
                     text});
  };
  add_text(by, row.label.name);
  add_text(report.detail, row.label.detail);
  return facts;
}

void AddAdvice(const ProfileReport& report, const ProfileOptions& options,
               Result& result) {
  const double share = ShareNotInModel(report);
  if (share <= kMuchOutside) return;
  const KernelAdvice advice = ProfileAdvice(report, options);
  result.Line("\n{:.1f} % is in {} that are not in the model: {}", 100 * share,
              Ours{IsTable(report) ? "names" : "kernels"},
              Ours{UnplacedOperators(report, std::string(kNotInModel))});
  result.Line("  {}", advice.why);
  for (const std::string& step : advice.steps) result.Line("  {}", step);
}

void AddPlacement(const TaggedModel& model, const ProfileReport& report,
                  const ProfileOptions& options, Result& result) {
  const Placement& placement = report.placement;
  const std::int64_t total = report.sides[0].total;
  if (options.by != "provider") {
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
  table.columns = {NumberColumn("", ProfileUnit("self", report), 10),
                   NumberColumn("", "share", 11),
                   NumberColumn("", "kernels", 11),
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

Datum RowValue(const ProfileRow& row, std::string_view by,
               const ProfileReport& report) {
  const std::string& detail = row.label.detail;
  Datum value =
      Datum::Object({{"name", row.label.name}, {"placed", row.label.placed}});
  if (by == "node") {
    value.Set("module", detail == "-" ? Datum() : Datum::OrNull(detail));
    value.Set("provider", Datum::OrNull(row.provider));
  } else if (!report.detail.empty()) {
    value.Set(by == "line" ? "text" : report.detail, Datum::OrNull(detail));
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
  const auto provider = [&](const Placement::Provider& one) {
    return Datum::Object({{"name", one.name},
                          {"kernels", one.kernels},
                          {"calls", one.calls},
                          {KeyOf("self", report), one.self},
                          {"share", Datum::Share(ShareOf(one.self, total))}});
  };
  const auto fallback = [&](const Placement::Fallback& one) {
    return Datum::Object({{"module", one.module == kNo<ModuleId>
                                         ? Datum()
                                         : Datum(FallbackName(model, one))},
                          {"whole", one.whole},
                          {"kernels", one.kernels},
                          {KeyOf("self", report), one.self},
                          {"share", Datum::Share(ShareOf(one.self, total))}});
  };
  return Datum::Object(
      {{"providers", ListOf(placement.providers, provider)},
       {"borders", placement.borders},
       {"copies",
        Datum::Object({{"calls", placement.copy_calls},
                       {KeyOf("self", report), placement.copy_self}})},
       {"cpu_fallbacks", ListOf(placement.fallbacks, fallback)}});
}

Datum NotInModelValue(const ProfileReport& report,
                      const ProfileOptions& options) {
  const double share = ShareNotInModel(report);
  Datum value = Datum::Object({{"share", Datum::Share(share)}});
  const bool much = share > kMuchOutside;
  const KernelAdvice advice =
      much ? ProfileAdvice(report, options) : KernelAdvice();
  value.Set("why", Datum::OrNull(advice.why));
  value.Set("commands", Datum(advice.steps));
  return value;
}

// Rounding to microseconds may leave a holder a few less than nothing.
std::uint64_t AtLeastNothing(std::int64_t time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0));
}

// Stacks that are equal, once.
std::map<std::vector<std::string>, std::uint64_t> SumStacks(
    const ProfileReport& report) {
  std::map<std::vector<std::string>, std::uint64_t> sums;
  for (const ProfileStack& stack : report.stacks) {
    sums[stack.frames] += AtLeastNothing(stack.self);
  }
  return sums;
}

}  // namespace

void AddProfileText(const TaggedModel& model, const ProfileReport& report,
                    const ProfileOptions& options, Result& result) {
  const bool tree = !report.modules.empty();
  std::vector<ProfileRow> rows = tree ? TreeRows(model, report) : report.rows;
  const std::size_t hidden = Hide(rows, options.top, tree);
  for (const ProfileRow& row : report.rows) {
    if (tree && !row.label.placed) rows.push_back(row);
  }
  AddHead(report, result);
  ProfileRow rest;
  for (ProfileRow& row : rows) {
    RowLabel& label = row.label;
    if (!tree) {
      label.name = Message("{}", Short{label.name, 70});
      label.detail = Message("{}", Short{label.detail, 70});
    }
    if (!label.placed) label.detail = UnplacedOperators(report, label.name);
    if (!row.shown) Add(row.numbers, report, rest.numbers);
  }
  std::erase_if(rows, [](const ProfileRow& row) { return !row.shown; });
  // In a tree, the rows above have it.
  rest.label.name =
      fmt::format("{}; --top 0 shows all", Count(hidden, "other row"));
  if (hidden > 0 && !tree) rows.push_back(rest);
  ProfileRow all;
  all.label.name = "all";
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    const ProfileSide& side = report.sides[i];
    all.numbers[i] = {side.total, side.total, side.calls};
  }
  rows.push_back(all);
  result.Add(TableOf(rows, [&](const ProfileRow& row) {
    return TextFacts(row, options.by, report);
  }));
  if (hidden > 0 && tree) {
    result.Line("\n{} not shown; --top 0 shows all", Count(hidden, "row"));
  }
  AddPlacement(model, report, options, result);
  AddAdvice(report, options, result);
}

Datum ProfileData(const TaggedModel& model,
                  const std::shared_ptr<const ProfileReport>& report,
                  const ProfileOptions& options) {
  const std::string by = options.by;
  Datum data = Datum::Object({{"model", report->model},
                              {"tags_from", report->tags_from},
                              {"by", by},
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

// Lines of Brendan Gregg's format: frames between semicolons, then a number.
std::string FoldedStacks(const ProfileReport& report) {
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

std::string SpeedscopeStacks(const ProfileReport& report) {
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

}  // namespace onnx_tag
