// How alike two sorted ranges are.
#pragma once

#include <cstddef>

namespace onnx_tag {

// The share of elements that both have, of those that either has; 0 if both
// are empty.
template <typename Range>
double Jaccard(const Range& a, const Range& b) {
  std::size_t both = 0;
  auto x = a.begin();
  for (auto y = b.begin(); x != a.end() && y != b.end();) {
    both += *x == *y;
    const bool first = *x < *y;
    if (!(*y < *x)) ++x;
    if (!first) ++y;
  }
  const std::size_t either = a.size() + b.size() - both;
  return either == 0 ? 0
                     : static_cast<double>(both) / static_cast<double>(either);
}

}  // namespace onnx_tag
