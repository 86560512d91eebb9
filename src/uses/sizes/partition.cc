// Tested by tests/uses/sizes/partition_test.cc.
#include "uses/sizes/partition.h"

#include <algorithm>

#include "uses/sizes/module_sizes.h"

namespace onnx_tag::sizes {
namespace {

constexpr std::uint64_t kImpossible = ~std::uint64_t{0};

// The smallest largest part of the first `last` segments in so many parts.
std::uint64_t SmallestLargest(const PartCosts& costs, std::size_t parts) {
  const std::size_t count = costs.segments();
  std::vector<std::uint64_t> best(count + 1, kImpossible);
  best[0] = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    // From the back: what is before has one part fewer.
    for (std::size_t last = count + 1; last-- > 0;) {
      best[last] = kImpossible;
      for (std::size_t first = part; first < last; ++first) {
        if (best[first] >= best[last]) continue;
        best[last] =
            std::min(best[last], std::max(best[first], costs.At(first, last)));
      }
    }
  }
  return best[count];
}

}  // namespace

std::optional<Partition> BestPartition(const PartCosts& costs,
                                       const std::vector<std::uint64_t>& across,
                                       std::size_t parts) {
  const std::size_t count = costs.segments();
  if (parts == 0 || parts > count) return std::nullopt;
  Partition result;
  const std::uint64_t most = SmallestLargest(costs, parts);
  // The fewest bytes across the borders of the first segments, with no part
  // above `most`; `from` says where the last of these parts begins.
  std::vector<std::uint64_t> bytes(count + 1, kImpossible);
  std::vector<std::uint32_t> from(parts * (count + 1));
  bytes[0] = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    for (std::size_t last = count + 1; last-- > 0;) {
      std::uint64_t fewest = kImpossible;
      for (std::size_t first = part; first < last; ++first) {
        if (bytes[first] == kImpossible || costs.At(first, last) > most) {
          continue;
        }
        const std::uint64_t sum =
            CappedSum(bytes[first], first == 0 ? 0 : across[first]);
        if (sum >= fewest) continue;
        fewest = sum;
        from[part * (count + 1) + last] = static_cast<std::uint32_t>(first);
      }
      bytes[last] = fewest;
    }
  }
  result.across = bytes[count];
  result.starts.resize(parts);
  std::size_t last = count;
  for (std::size_t part = parts; part-- > 0;) {
    const std::size_t first = from[part * (count + 1) + last];
    result.starts[part] = first;
    result.largest = std::max(result.largest, costs.At(first, last));
    last = first;
  }
  return result;
}

std::optional<std::size_t> FewestParts(const PartCosts& costs,
                                       std::uint64_t budget) {
  const std::size_t count = costs.segments();
  std::vector<std::size_t> fewest(count + 1, count + 1);
  fewest[0] = 0;
  for (std::size_t last = 1; last <= count; ++last) {
    for (std::size_t first = 0; first < last; ++first) {
      if (costs.At(first, last) <= budget) {
        fewest[last] = std::min(fewest[last], fewest[first] + 1);
      }
    }
  }
  if (fewest[count] > count) return std::nullopt;
  return fewest[count];
}

}  // namespace onnx_tag::sizes
