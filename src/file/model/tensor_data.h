// The elements of an encoded TensorProto, however the file stores them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/model/element_types.h"
#include "onnx_tag/bytes.h"

namespace onnx_tag {

struct TensorType {
  std::int32_t data_type = 0;
  std::vector<std::int64_t> dims;
};

struct TensorData : TensorType {
  std::string_view name;
  // The elements in the order of raw_data, little-endian. A view of the file
  // where it has them so; else they were converted into `converted`.
  Bytes elements() const { return converted.empty() ? raw : Bytes(converted); }
  Bytes raw;
  std::string converted;  // empty also where its numbers cannot be read

  // If the elements are in another file; else `location` is empty.
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

TensorData ReadTensorData(Bytes tensor);

// Does not look at the elements.
TensorType ReadTensorType(Bytes tensor);

double HalfOf(std::uint16_t bits);

// Calls `use(number)` with the element at `index` in its own type, a half as
// double. False for a type that has no plain numbers.
template <typename Use>
bool UseElement(std::int32_t data_type, Bytes elements, std::size_t index,
                const Use& use) {
  const auto at = [&](auto number) {
    std::memcpy(&number, elements.data() + index * sizeof number,
                sizeof number);
    return number;
  };
  // Each case reads another type.
  // NOLINTBEGIN(bugprone-branch-clone)
  switch (data_type) {
    case kFloat:
      return use(at(float())), true;
    case kDouble:
      return use(at(double())), true;
    case kFloat16:
      return use(HalfOf(at(std::uint16_t()))), true;
    case kBool:
      return use(elements[index] != '\0'), true;
    case kUint8:
      return use(at(std::uint8_t())), true;
    case kInt8:
      return use(at(std::int8_t())), true;
    case kUint16:
      return use(at(std::uint16_t())), true;
    case kInt16:
      return use(at(std::int16_t())), true;
    case kUint32:
      return use(at(std::uint32_t())), true;
    case kInt32:
      return use(at(std::int32_t())), true;
    case kUint64:
      return use(at(std::uint64_t())), true;
    case kInt64:
      return use(at(std::int64_t())), true;
    default:
      return false;
  }
  // NOLINTEND(bugprone-branch-clone)
}

// The first elements as people read them: "0.125", "[1, 8, 4, 8]", "[1, 2,
// ...]"; empty for a type that has no plain numbers.
std::string ElementsText(const TensorData& tensor);

// The number of elements of a tensor: the product of the dimensions, kOver at
// most; 0 if one is unknown.
std::uint64_t CountElements(std::span<const std::int64_t> dims);

}  // namespace onnx_tag
