// For programs.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "app/commands/profile/profile_report.h"
#include "app/commands/read/nodes.h"
#include "app/render/facts.h"
#include "app/render/render.h"
#include "core/tagging/version.h"
#include "core/tagging/words.h"

namespace onnx_tag {
namespace {

using profile::Spread;

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

Datum ProfileData(const TaggedModel& model,
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
