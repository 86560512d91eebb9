// The elements of an encoded TensorProto, however the file stores them.
#ifndef ONNX_TAG_FILE_MODEL_TENSOR_DATA_H_
#define ONNX_TAG_FILE_MODEL_TENSOR_DATA_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag {

struct TensorData {
  std::string_view name;
  std::int32_t data_type = 0;
  std::vector<std::int64_t> dims;
  // The elements in the order of raw_data, little-endian. A view of the file
  // where it has them so; else they were converted into `converted`.
  Bytes elements() const { return converted.empty() ? raw : Bytes(converted); }
  Bytes raw;
  std::string converted;

  // If the elements are in another file; else `location` is empty.
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

TensorData ReadTensorData(Bytes tensor);

// Whether the elements are floating-point numbers, of a type that weights have:
// TensorProto.DataType's FLOAT, FLOAT16, DOUBLE and BFLOAT16.
inline bool IsFloat(std::int32_t data_type) {
  return data_type == 1 || data_type == 10 || data_type == 11 ||
         data_type == 16;
}

// The first elements as people read them: "0.125", "[1, 8, 4, 8]", "[1, 2,
// ...]"; empty for a type that has no plain numbers.
std::string ElementsText(const TensorData& tensor);

// The number of elements of a tensor: the product of the dimensions; 0 if one
// is unknown, or if no memory holds so many elements: such a shape is a mistake
// or an attack.
std::uint64_t CountElements(std::span<const std::int64_t> dims);

}  // namespace onnx_tag

#endif  // ONNX_TAG_FILE_MODEL_TENSOR_DATA_H_
