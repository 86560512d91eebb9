// Kernels that ran one after another, in the order of a file.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

namespace onnx_tag::profile {

class Collector {
 public:
  // `apart`: kernels of the same name stay apart.
  explicit Collector(std::string_view provider, bool apart = false)
      : provider_(provider), apart_(apart) {}

  // A kernel that was made of several nodes divides its time among them. `line`
  // gives where in the file it is.
  template <typename Where>
  void Add(const std::vector<std::string>& nodes, std::string_view op,
           double microseconds, Where line) {
    if (!(microseconds >= 0 && microseconds <= 1e12)) {
      Fail(ErrorKind::kInput, "{}: '{}' has the impossible time {}",
           Ours{line()}, Short{nodes.front(), 200}, microseconds);
    }
    // The sum is rounded, not each kernel: the total is exact.
    sum_ += microseconds;
    const std::int64_t whole = std::llround(sum_) - end_;
    const auto count = static_cast<std::int64_t>(nodes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t part = whole / count + (i < whole % count ? 1 : 0);
      profile_.runs.push_back(
          {.kernel = Intern(nodes[static_cast<std::size_t>(i)], op),
           .thread = 0,
           .begin = end_,
           .duration = part,
           .self = part});
      end_ += part;
    }
  }

  // Ends a run of the model; what was added since the last one is in it.
  void EndRun() {
    const std::int64_t begin = profile_.run_times.empty()
                                   ? 0
                                   : profile_.run_times.back().begin +
                                         profile_.run_times.back().duration;
    profile_.run_times.push_back({begin, end_ - begin});
  }

  Profile Take() {
    if (profile_.runs.empty()) {
      Fail(ErrorKind::kInput, "a profile of {} in which nothing ran",
           provider_);
    }
    profile_.model_runs =
        profile_.run_times.empty() ? 1 : profile_.run_times.size();
    return std::move(profile_);
  }

 private:
  KernelId Intern(const std::string& node, std::string_view op) {
    const auto [at, added] =
        kernels_.try_emplace(node + '\0' + std::string(op), KernelId{0});
    if (added || apart_) {
      at->second =
          profile_.kernels.Add({node, std::string(op), std::string(provider_)});
    }
    return at->second;
  }

  std::string_view provider_;
  bool apart_;
  Profile profile_;
  std::unordered_map<std::string, KernelId> kernels_;
  std::int64_t end_ = 0;
  double sum_ = 0;
};

}  // namespace onnx_tag::profile
