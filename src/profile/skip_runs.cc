#include "base/text.h"
#include "onnx_tag/error.h"
#include "profile/profile.h"

namespace onnx_tag::profile {

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

}  // namespace onnx_tag::profile
