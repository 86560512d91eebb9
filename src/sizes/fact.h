// What is known of a value.
#ifndef ONNX_TAG_SIZES_FACT_H_
#define ONNX_TAG_SIZES_FACT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sizes/dim.h"
#include "sizes/numbers.h"

namespace onnx_tag::sizes {

// A sequence of tensors, or an optional tensor.
struct Sequence {
  std::optional<Shape> element;  // as far as all have it in common
  Dim length;
  std::vector<Shape> items;  // all of them, or none
};

struct Fact {
  // No value: not even the rank is known. A dimension may be unknown.
  std::optional<Shape> shape = {};
  std::optional<Numbers> numbers = {};
  // A number of TensorProto.DataType, of a sequence that of its elements; 0:
  // unknown.
  std::int32_t type = 0;
  std::shared_ptr<const Sequence> sequence = {};
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_FACT_H_
