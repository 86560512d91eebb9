// A tensor so small that its numbers are known, and what moving them gives.
#ifndef ONNX_TAG_SIZES_RULES_SMALL_H_
#define ONNX_TAG_SIZES_RULES_SMALL_H_

#include <optional>

#include "sizes/attributes.h"
#include "sizes/numbers.h"

namespace onnx_tag::sizes {

struct Small {
  Ints dims;
  std::vector<Number> elements;
};

// How many elements a tensor has; nothing where that is more than
// kMostElements, or a dimension is negative.
std::optional<std::size_t> SmallCount(const Ints& dims);

// The tensor with these dimensions whose element at each place is the one of
// `from` that `place(index)` says. `index` is changed by `place` as it likes.
// Nothing where there are too many.
template <typename Place>
std::optional<Small> Picked(const Small& from, const Ints& dims, Place place) {
  const auto count = SmallCount(dims);
  if (!count) return std::nullopt;
  Small picked{dims, {}};
  Ints index(dims.size(), 0);
  for (std::size_t i = 0; i < *count; ++i) {
    Ints source = index;
    place(source);
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < from.dims.size(); ++axis) {
      if (source[axis] < 0 || source[axis] >= from.dims[axis]) {
        return std::nullopt;
      }
      at = at * from.dims[axis] + source[axis];
    }
    picked.elements.push_back(from.elements[static_cast<std::size_t>(at)]);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
  return picked;
}

// Repeated to these dimensions, as Expand does it.
std::optional<Small> Repeated(const Small& from, const Ints& dims);
// The dimensions of two tensors together; nothing where they do not fit.
std::optional<Ints> BroadcastInts(const Ints& a, const Ints& b);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_RULES_SMALL_H_
