// The number of elements of a tensor.
#ifndef ONNX_TAG_MODEL_ELEMENT_COUNT_H_
#define ONNX_TAG_MODEL_ELEMENT_COUNT_H_

#include <cstdint>
#include <span>

namespace onnx_tag {

// The product of the dimensions; 0 if one is unknown, or if no memory holds so
// many elements: such a shape is a mistake or an attack.
std::uint64_t CountElements(std::span<const std::int64_t> dims);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MODEL_ELEMENT_COUNT_H_
