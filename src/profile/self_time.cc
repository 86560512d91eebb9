#include <algorithm>
#include <tuple>

#include "profile/profile.h"

namespace onnx_tag::profile {
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
