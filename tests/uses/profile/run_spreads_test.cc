#include "uses/profile/run_spreads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace onnx_tag::profile {
namespace {

TEST(RunDigest, PercentilesAreNumbersThatWereMeasured) {
  RunDigest digest;
  for (const std::int64_t number : {70, 10, 40, 30, 20, 50, 60, 90, 80, 100}) {
    digest.Add(number);
  }
  const Spread spread = digest.Of(10);
  EXPECT_EQ(spread.p10, 10);
  EXPECT_EQ(spread.p50, 50);
  EXPECT_EQ(spread.p90, 90);
  EXPECT_EQ(spread.max, 100);
  EXPECT_TRUE(spread.exact);
}

TEST(RunDigest, RunsWithoutANumberCountAsNothing) {
  RunDigest digest;
  digest.Add(5);
  digest.Add(-3);
  const Spread spread = digest.Of(10);
  EXPECT_EQ(spread.p10, -3);
  EXPECT_EQ(spread.p50, 0);
  EXPECT_EQ(spread.p90, 0);
  EXPECT_EQ(spread.max, 5);
}

TEST(RunDigest, ManyRunsAreWithinOnePercentInLittleMemory) {
  RunDigest digest;
  std::vector<std::int64_t> all;
  std::uint64_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto number = static_cast<std::int64_t>(state >> 44);
    digest.Add(number);
    all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  const Spread spread = digest.Of(all.size());
  EXPECT_FALSE(spread.exact);
  const auto expect_near = [&](std::int64_t found, std::size_t percent) {
    const std::int64_t truth = all[all.size() * percent / 100 - 1];
    EXPECT_GE(found, truth);
    EXPECT_LE(static_cast<double>(found - truth),
              0.01 * static_cast<double>(truth));
  };
  expect_near(spread.p10, 10);
  expect_near(spread.p50, 50);
  expect_near(spread.p90, 90);
  EXPECT_EQ(spread.max, all.back());
}

// Kernel 0 is in group 1, kernel 1 in group 2; both groups are in group 0.
Profile TwoKernels() {
  Profile profile;
  profile.kernels.Add({"a", "Add", ""});
  profile.kernels.Add({"b", "Mul", ""});
  for (int run = 0; run < 4; ++run) {
    const std::int64_t begin = run * 100;
    profile.run_times.push_back({begin, 100});
    profile.runs.push_back({KernelId{0}, 0, begin + 10, 10 + run, 10 + run});
    if (run == 3) continue;  // a branch that was not taken
    profile.runs.push_back({KernelId{1}, 0, begin + 50, 5, 5});
  }
  return profile;
}

KernelGroups ThreeGroups() {
  KernelGroups groups;
  groups.of_kernel.Add(1);
  groups.of_kernel.Add(2);
  groups.parents = {KernelGroups::kNone, 0, 0};
  return groups;
}

TEST(SpreadsOf, GroupsHaveTheSumsOfEachRun) {
  const std::vector<Spread> spreads = SpreadsOf(TwoKernels(), ThreeGroups());
  EXPECT_EQ(spreads[0].p10, 13);  // 13 in the last run, then 15, 16, 17
  EXPECT_EQ(spreads[0].p50, 15);
  EXPECT_EQ(spreads[0].max, 17);
  EXPECT_EQ(spreads[1].p50, 11);
  EXPECT_EQ(spreads[2].p10, 0);
  EXPECT_EQ(spreads[2].max, 5);
}

TEST(SpreadsOf, NothingIsKnownWithoutRunsOrIfTheyOverlap) {
  Profile profile = TwoKernels();
  profile.run_times[0].duration = 101;
  EXPECT_EQ(SpreadsOf(profile, ThreeGroups())[0].runs, 0u);
  profile.run_times.clear();
  EXPECT_EQ(SpreadsOf(profile, ThreeGroups())[0].runs, 0u);
}

}  // namespace
}  // namespace onnx_tag::profile
