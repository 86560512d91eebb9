#include "uses/sizes/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace onnx_tag::sizes {
namespace {

// Costs of any kind: a longer part need not cost more.
struct Pieces {
  PartCosts costs;
  std::vector<std::uint64_t> across;
};

Pieces MakeRandom(std::mt19937& random, std::size_t segments, bool sums) {
  const auto number = [&](std::uint32_t most) { return random() % most; };
  Pieces made{PartCosts(segments), {}};
  for (std::size_t i = 0; i < segments; ++i) made.across.push_back(number(9));
  std::vector<std::uint64_t> each;
  for (std::size_t i = 0; i < segments; ++i) each.push_back(number(20));
  for (std::size_t first = 0; first < segments; ++first) {
    std::uint64_t sum = 0;
    for (std::size_t last = first + 1; last <= segments; ++last) {
      sum += each[last - 1];
      made.costs.At(first, last) = sums ? sum : number(50);
    }
  }
  return made;
}

// Tries all borders: the smallest largest part and then the fewest bytes.
std::pair<std::uint64_t, std::uint64_t> BruteForce(const Pieces& sequence,
                                                   std::size_t parts) {
  const std::size_t count = sequence.costs.segments();
  std::pair<std::uint64_t, std::uint64_t> best = {~0ULL, ~0ULL};
  for (std::uint32_t cuts = 0; cuts < 1U << (count - 1); ++cuts) {
    std::vector<std::size_t> starts = {0};
    std::uint64_t across = 0;
    for (std::size_t i = 1; i < count; ++i) {
      if ((cuts >> (i - 1) & 1) == 0) continue;
      starts.push_back(i);
      across += sequence.across[i];
    }
    if (starts.size() != parts) continue;
    starts.push_back(count);
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      largest = std::max(largest, sequence.costs.At(starts[i], starts[i + 1]));
    }
    best = std::min(best, {largest, across});
  }
  return best;
}

TEST(PartitionTest, IsAsGoodAsTheBestOfAllBorders) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    const std::size_t segments = 1 + random() % 10;
    const Pieces sequence = MakeRandom(random, segments, round % 2 == 0);
    for (std::size_t parts = 1; parts <= segments; ++parts) {
      const auto best = BestPartition(sequence.costs, sequence.across, parts);
      ASSERT_TRUE(best);
      EXPECT_EQ(std::pair(best->largest, best->across),
                BruteForce(sequence, parts));
      EXPECT_EQ(best->starts.size(), parts);
      EXPECT_EQ(best->starts.front(), 0);
    }
    EXPECT_FALSE(BestPartition(sequence.costs, sequence.across, segments + 1));
  }
}

TEST(PartitionTest, TheFewestPartsFitTheBudgetAndOneFewerDoesNot) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const std::size_t segments = 1 + random() % 9;
    const Pieces sequence = MakeRandom(random, segments, round % 2 == 0);
    const std::uint64_t budget = random() % 60;
    const auto parts = FewestParts(sequence.costs, budget);
    std::size_t expected = 0;
    for (std::size_t n = segments; n > 0; --n) {
      if (BruteForce(sequence, n).first <= budget) expected = n;
    }
    EXPECT_EQ(parts.value_or(0), expected);
  }
}

TEST(PartitionTest, EqualSegmentsMakeEqualParts) {
  PartCosts costs(12);
  for (std::size_t first = 0; first < 12; ++first) {
    for (std::size_t last = first + 1; last <= 12; ++last) {
      costs.At(first, last) = last - first;
    }
  }
  const auto best = BestPartition(costs, std::vector<std::uint64_t>(12, 1), 4);
  ASSERT_TRUE(best);
  EXPECT_THAT(best->starts, testing::ElementsAre(0, 3, 6, 9));
  EXPECT_EQ(best->largest, 3);
  EXPECT_EQ(best->across, 3);
}

}  // namespace
}  // namespace onnx_tag::sizes
