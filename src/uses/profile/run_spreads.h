// How numbers differ from run to run: percentiles of what groups of kernels,
// such as modules, took in each run of the model.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "uses/profile/profile.h"

namespace onnx_tag::profile {

// Percentiles by nearest rank: each is a number that was measured.
struct Spread {
  std::uint64_t runs = 0;  // 0: it is not known
  std::int64_t p10 = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t max = 0;
  // Beyond RunDigest::kExact runs the percentiles, but not the maximum, are
  // rounded up by less than 1 %.
  bool exact = true;
};

// The numbers of one group, run by run, in bounded memory.
class RunDigest {
 public:
  static constexpr std::size_t kExact = 1000;

  void Add(std::int64_t number);
  // Of `runs`; in those that were not added the number was 0.
  Spread Of(std::uint64_t runs) const;

 private:
  std::int64_t Ranked(std::uint64_t rank, std::uint64_t zeros) const;

  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
  mutable std::vector<std::int64_t> numbers_;      // up to kExact
  std::map<std::int64_t, std::uint64_t> rounded_;  // else: how many of each
};

// The group of each kernel, and the group around each group.
struct KernelGroups {
  static constexpr std::uint32_t kNone = 0xffffffff;

  IdVector<KernelId, std::uint32_t> of_kernel;  // kNone: in none
  std::vector<std::uint32_t> parents;  // smaller than the group, or kNone
};

// For each group, what it and the groups in it took in each run: of their self
// times. Nothing is known (`runs` is 0) if the profile does not record runs,
// or if runs overlap in time.
std::vector<Spread> SpreadsOf(const Profile& profile,
                              const KernelGroups& groups);

}  // namespace onnx_tag::profile
