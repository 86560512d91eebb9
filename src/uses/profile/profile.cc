#include "uses/profile/profile.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::profile {
namespace {

// Each layer of `trtexec --exportProfile` has it; no event of ONNX Runtime.
constexpr std::string_view kTensorRtKey = "\"averageMs\"";
constexpr std::size_t kLookedAt = 64 * 1024;

}  // namespace

Profile ReadProfile(Bytes file, std::string_view measure, Bytes layers,
                    std::string_view key) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  for (Bytes* const text : {&file, &layers}) {
    if (text->starts_with(kByteOrderMark)) {
      text->remove_prefix(kByteOrderMark.size());
    }
  }
  const std::size_t first = file.find_first_not_of(" \t\r\n");
  const bool json =
      first == Bytes::npos || file[first] == '[' || file[first] == '{';
  const bool tensor_rt =
      json && file.substr(0, kLookedAt).find(kTensorRtKey) != Bytes::npos;
  if (!layers.empty() && !tensor_rt) {
    Fail(ErrorKind::kUsage, "--layers requires a profile of TensorRT");
  }
  if (!json) return ReadTableProfile(file, measure, key);
  if (!key.empty() && key != "provider") {
    Fail(ErrorKind::kUsage,
         "unknown key for --by '{}': only a table has columns", key);
  }
  if (tensor_rt) {
    if (measure != Measure::kTime) {
      Fail(ErrorKind::kUsage, "a profile of TensorRT has only times");
    }
    return ReadTensorRtProfile(file, layers);
  }
  return ReadOrtProfile(file, measure);
}

namespace {

void CountIn(std::int64_t parts, Profile& profile) {
  const std::int64_t factor = profile.measure.parts / parts;
  if (factor == 1) return;
  for (KernelRun& run : profile.runs) {
    run.duration /= factor;
    run.self = run.duration;
  }
  profile.measure.parts = parts;
}

}  // namespace

void MakeComparable(Profile& a, Profile& b) {
  if (a.measure.name != b.measure.name) {
    Fail(ErrorKind::kUsage, "the first profile has '{}', the second '{}'",
         a.measure.name, b.measure.name);
  }
  // Powers of ten both.
  const std::int64_t parts = std::min(a.measure.parts, b.measure.parts);
  CountIn(parts, a);
  CountIn(parts, b);
}

void SkipRuns(Profile& profile, std::uint64_t count) {
  if (count == 0) return;
  if (profile.run_times.empty()) {
    Fail(ErrorKind::kUsage,
         "--skip-runs {}: the profile does not record single runs", count);
  }
  if (count >= profile.run_times.size()) {
    Fail(ErrorKind::kUsage, "--skip-runs {}: the profile has only {}", count,
         Count(profile.run_times.size(), "run"));
  }
  const auto first =
      profile.run_times.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto run = profile.run_times.begin(); run != first; ++run) {
    if (run->begin + run->duration <= first->begin) continue;
    Fail(ErrorKind::kUsage,
         "--skip-runs {}: runs overlap in time, so their kernels cannot be "
         "told apart",
         count);
  }
  std::erase_if(profile.runs,
                [&](const KernelRun& run) { return run.begin < first->begin; });
  profile.run_times.erase(profile.run_times.begin(), first);
  profile.model_runs = profile.run_times.size();
}

namespace {

// The number of recent kernels of other threads that are searched for the
// enclosing one.
constexpr std::size_t kMostHolders = 64;

std::int64_t EndOf(const KernelRun& run) { return run.begin + run.duration; }

bool Contains(const KernelRun& outer, const KernelRun& inner) {
  return outer.begin <= inner.begin && EndOf(inner) <= EndOf(outer);
}

// The latest of `holders` (sorted by begin) that encloses `run`.
KernelRun* Innermost(const std::vector<KernelRun*>& holders,
                     const KernelRun& run) {
  auto at = std::upper_bound(holders.begin(), holders.end(), run.begin,
                             [](std::int64_t begin, const KernelRun* holder) {
                               return begin < holder->begin;
                             });
  for (std::size_t steps = 0; at != holders.begin() && steps < kMostHolders;
       ++steps) {
    --at;
    if (*at != &run && Contains(**at, run)) return *at;
  }
  return nullptr;
}

}  // namespace

std::int64_t CountSelfTimes(Profile& profile,
                            const std::function<bool(KernelId)>& holds,
                            const std::function<bool(KernelId)>& is_inner) {
  std::vector<KernelRun*> runs;
  std::vector<KernelRun*> holders;
  for (KernelRun& run : profile.runs) {
    run.self = run.duration;
    runs.push_back(&run);
    if (holds(run.kernel)) holders.push_back(&run);
  }
  const auto by_time = [](const KernelRun* a, const KernelRun* b) {
    return std::tuple(a->begin, -a->duration) <
           std::tuple(b->begin, -b->duration);
  };
  std::stable_sort(holders.begin(), holders.end(), by_time);
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const KernelRun* a, const KernelRun* b) {
                     if (a->thread != b->thread) return a->thread < b->thread;
                     return by_time(a, b);
                   });
  std::int64_t top_level = 0;
  std::vector<KernelRun*> open;  // the enclosing kernels, outermost first
  for (KernelRun* run : runs) {
    while (!open.empty() && (open.back()->thread != run->thread ||
                             !Contains(*open.back(), *run))) {
      open.pop_back();
    }
    KernelRun* holder = open.empty() ? nullptr : open.back();
    if (holder == nullptr && is_inner(run->kernel)) {
      holder = Innermost(holders, *run);
    }
    if (holder == nullptr) {
      top_level += run->duration;
    } else {
      holder->self -= run->duration;
    }
    if (holds(run->kernel)) open.push_back(run);
  }
  return top_level;
}

}  // namespace onnx_tag::profile
