#include "sizes/rules/small.h"

#include <algorithm>

namespace onnx_tag::sizes {

std::optional<std::size_t> SmallCount(const Ints& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim > static_cast<std::int64_t>(kMostElements)) return std::nullopt;
    count *= static_cast<std::size_t>(dim);
    if (count > kMostElements) return std::nullopt;
  }
  return count;
}

std::optional<Small> Repeated(const Small& from, const Ints& dims) {
  if (dims.size() < from.dims.size()) return std::nullopt;
  if (dims == from.dims) return from;
  const auto more = static_cast<std::ptrdiff_t>(dims.size() - from.dims.size());
  return Picked(from, dims, [&](Ints& index) {
    index.erase(index.begin(), index.begin() + more);
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      if (from.dims[axis] == 1) index[axis] = 0;
    }
  });
}

std::optional<Ints> BroadcastInts(const Ints& a, const Ints& b) {
  Ints dims = a.size() >= b.size() ? a : b;
  const Ints& shorter = a.size() >= b.size() ? b : a;
  const std::size_t offset = dims.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = dims[offset + i];
    if (dim == 1) {
      dim = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != dim) {
      return std::nullopt;
    }
  }
  return dims;
}

}  // namespace onnx_tag::sizes
