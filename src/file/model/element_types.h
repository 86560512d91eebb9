// Names and widths of ONNX's element types.
#pragma once

#include <cstdint>
#include <string_view>

namespace onnx_tag {

// Numbers of TensorProto.DataType.
enum DataType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};

// "float32", "int4", as in ONNX's Python package; "" where it is unknown.
std::string_view TypeName(std::int32_t data_type);
// The same, or "unknown".
std::string_view TypeNameOrUnknown(std::int32_t data_type);

// Floating-point numbers, of a type that weights have.
inline bool IsFloat(std::int32_t data_type) {
  return data_type == kFloat || data_type == kFloat16 || data_type == kDouble ||
         data_type == kBfloat16;
}

// Of whole numbers; no bool.
bool IsInteger(std::int32_t data_type);

// 0 where it has no fixed width (strings) or is unknown.
std::uint32_t BitsPerElement(std::int32_t data_type);

// Counts and sums stop here: they are "over 2^63" then.
inline constexpr std::uint64_t kOver = std::uint64_t{1} << 63;

constexpr std::uint64_t CappedSum(std::uint64_t a, std::uint64_t b) {
  return a >= kOver || b >= kOver || a + b >= kOver ? kOver : a + b;
}

// Whole bytes; 0 where the type has no fixed width.
std::uint64_t CountBytes(std::uint64_t elements, std::int32_t data_type);

}  // namespace onnx_tag
