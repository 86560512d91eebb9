// The equation of an Einsum, letter by letter.
#ifndef ONNX_TAG_SIZES_EINSUM_H_
#define ONNX_TAG_SIZES_EINSUM_H_

#include <cstddef>
#include <string_view>

#include "sizes/shapes.h"

namespace onnx_tag::sizes {

// Calls `visit(letter, size)` for each letter of `inputs`, the part of the
// equation before the arrow. `shape_of(i)` gives the shape of input i, or null.
// False if a letter has no dimension; later letters are not visited then.
template <typename ShapeOf, typename Visit>
bool VisitEinsumInputs(std::string_view inputs, ShapeOf shape_of, Visit visit) {
  std::size_t input = 0;
  std::size_t place = 0;
  for (const char letter : inputs) {
    if (letter == ' ') continue;
    if (letter == ',') {
      ++input;
      place = 0;
      continue;
    }
    const Shape* const shape = shape_of(input);
    if (shape == nullptr || place >= shape->size()) return false;
    visit(letter, (*shape)[place++]);
  }
  return true;
}

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_EINSUM_H_
