#include "recipes/align/overlap.h"

#include <algorithm>

namespace onnx_tag::recipes {

std::size_t CommonCount(std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::size_t count = 0;
  // A recipe is short, and there are thousands. A file may be long: it is
  // searched, not walked.
  constexpr std::size_t kMuchLonger = 16;
  if (a.size() / kMuchLonger > b.size()) {
    for (const std::uint32_t hash : b) {
      count += std::binary_search(a.begin(), a.end(), hash);
    }
    return count;
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    count += a[i] == b[j];
    const bool step_a = a[i] <= b[j];
    const bool step_b = b[j] <= a[i];
    i += step_a;
    j += step_b;
  }
  return count;
}

double Share(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) /
         static_cast<double>(std::max<std::size_t>(1, whole));
}

std::vector<std::size_t> HighestOf(const std::vector<double>& scores,
                                   std::size_t limit) {
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  limit = std::min(limit, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(limit),
      order.end(), [&](std::size_t a, std::size_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
      });
  order.resize(limit);
  return order;
}

}  // namespace onnx_tag::recipes
