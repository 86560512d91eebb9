// Tested by tests/uses/profile/run_spreads_test.cc.
#include "uses/profile/run_spreads.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/lists.h"

namespace onnx_tag::profile {
namespace {

// The largest number that is kept as the same: 128 steps for each power of two.
std::int64_t Rounded(std::int64_t number) {
  constexpr int kBits = 8;
  if (number <= 0) return number;
  const auto value = static_cast<std::uint64_t>(number);
  const int drop = std::max(0, static_cast<int>(std::bit_width(value)) - kBits);
  return static_cast<std::int64_t>(((value >> drop) + 1) << drop) - 1;
}

bool Overlap(const std::vector<ModelRun>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i - 1].begin + runs[i - 1].duration > runs[i].begin) return true;
  }
  return false;
}

}  // namespace

void RunDigest::Add(std::int64_t number) {
  max_ = count_ == 0 ? number : std::max(max_, number);
  ++count_;
  if (count_ <= kExact) {
    numbers_.push_back(number);
    return;
  }
  for (const std::int64_t earlier : numbers_) ++rounded_[Rounded(earlier)];
  numbers_.clear();
  numbers_.shrink_to_fit();
  ++rounded_[Rounded(number)];
}

Spread RunDigest::Of(std::uint64_t runs) const {
  Spread spread;
  spread.runs = runs;
  if (runs == 0) return spread;
  const std::uint64_t zeros = runs > count_ ? runs - count_ : 0;
  std::sort(numbers_.begin(), numbers_.end());
  const auto rank = [&](std::uint64_t percent) {
    return std::max<std::uint64_t>(1, (runs * percent + 99) / 100);
  };
  spread.p10 = Ranked(rank(10), zeros);
  spread.p50 = Ranked(rank(50), zeros);
  spread.p90 = Ranked(rank(90), zeros);
  spread.max = zeros > 0 ? std::max<std::int64_t>(max_, 0) : max_;
  spread.exact = count_ <= kExact;
  return spread;
}

// The number of this rank, from 1, with `zeros` among the others.
std::int64_t RunDigest::Ranked(std::uint64_t rank, std::uint64_t zeros) const {
  bool counted_zeros = zeros == 0;
  const auto take = [&](std::int64_t number, std::uint64_t times,
                        std::int64_t& found) {
    if (!counted_zeros && number >= 0) {
      counted_zeros = true;
      if (rank <= zeros) {
        found = 0;
        return true;
      }
      rank -= zeros;
    }
    if (rank <= times) {
      found = std::min(number, max_);
      return true;
    }
    rank -= times;
    return false;
  };
  std::int64_t found = 0;
  for (const std::int64_t number : numbers_) {
    if (take(number, 1, found)) return found;
  }
  for (const auto& [number, times] : rounded_) {
    if (take(number, times, found)) return found;
  }
  return 0;
}

std::vector<Spread> SpreadsOf(const Profile& profile,
                              const KernelGroups& groups) {
  std::vector<Spread> spreads(groups.parents.size());
  const std::vector<ModelRun>& runs = profile.run_times;
  if (runs.empty() || Overlap(runs)) return spreads;
  // By time, so that one run after the other is complete.
  std::vector<const KernelRun*> calls;
  calls.reserve(profile.runs.size());
  for (const KernelRun& call : profile.runs) {
    if (groups.of_kernel[call.kernel] != KernelGroups::kNone) {
      calls.push_back(&call);
    }
  }
  SortBy(calls, &KernelRun::begin);
  std::vector<RunDigest> digests(spreads.size());
  std::vector<std::int64_t> sums(spreads.size(), 0);
  std::vector<bool> ran(spreads.size(), false);
  std::vector<std::uint32_t> touched;
  const auto add = [&](std::uint32_t group, std::int64_t number) {
    sums[group] = profile.measure.Add(sums[group], number);
    for (; group != KernelGroups::kNone && !ran[group];
         group = groups.parents[group]) {
      ran[group] = true;
      touched.push_back(group);
    }
  };
  // Inner groups first: the sum of a group is complete when its turn comes.
  const auto end_run = [&] {
    std::sort(touched.begin(), touched.end(), std::greater<>());
    for (const std::uint32_t group : touched) {
      const std::uint32_t parent = groups.parents[group];
      if (parent != KernelGroups::kNone) {
        sums[parent] = profile.measure.Add(sums[parent], sums[group]);
      }
      digests[group].Add(sums[group]);
      sums[group] = 0;
      ran[group] = false;
    }
    touched.clear();
  };
  auto call = calls.begin();
  for (const ModelRun& run : runs) {
    while (call != calls.end() && (*call)->begin < run.begin) ++call;
    for (; call != calls.end() && (*call)->begin < run.begin + run.duration;
         ++call) {
      add(groups.of_kernel[(*call)->kernel], (*call)->self);
    }
    end_run();
  }
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    spreads[i] = digests[i].Of(runs.size());
  }
  return spreads;
}

}  // namespace onnx_tag::profile
