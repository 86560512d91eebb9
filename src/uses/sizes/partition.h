// A sequence cut into consecutive parts: the largest part as small as possible,
// then the fewest bytes across. By dynamic programming, so that the answer is
// the best one, not a good one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace onnx_tag::sizes {

// What the segments [first, last) cost as one part, for all of them.
class PartCosts {
 public:
  explicit PartCosts(std::size_t segments)
      : segments_(segments), costs_(segments * segments) {}

  std::size_t segments() const { return segments_; }
  std::uint64_t& At(std::size_t first, std::size_t last) {
    return costs_[first * segments_ + last - 1];
  }
  std::uint64_t At(std::size_t first, std::size_t last) const {
    return costs_[first * segments_ + last - 1];
  }

 private:
  std::size_t segments_;
  std::vector<std::uint64_t> costs_;
};

struct Partition {
  std::vector<std::size_t> starts;  // the first segment of each part: 0, ...
  std::uint64_t largest = 0;
  std::uint64_t across = 0;  // bytes, of all borders
};

// `across[i]`: the bytes that cross a border before segment i. Nothing if there
// are fewer segments than parts.
std::optional<Partition> BestPartition(const PartCosts& costs,
                                       const std::vector<std::uint64_t>& across,
                                       std::size_t parts);

// The fewest parts of which none costs more than `budget`; nothing if a segment
// does.
std::optional<std::size_t> FewestParts(const PartCosts& costs,
                                       std::uint64_t budget);

}  // namespace onnx_tag::sizes
