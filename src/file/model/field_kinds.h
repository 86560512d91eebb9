// Kinds of fields, and questions about one field.
#pragma once

#include <cstdint>

#include "file/wire/field_reader.h"

namespace onnx_tag::onnx {

// The number of a field, with the kind of its encoding as the type:
// file/model/onnx_fields.h has one for each field. A text or message is not
// read as a number by mistake.
struct BytesField {
  std::uint32_t number;
  constexpr operator std::uint32_t() const { return number; }  // NOLINT
};
struct VarintField {
  std::uint32_t number;
  constexpr operator std::uint32_t() const { return number; }  // NOLINT
};
struct FixedField {
  std::uint32_t number;
  constexpr operator std::uint32_t() const { return number; }  // NOLINT
};

// What a field of the specification holds.
enum class Holds : std::uint8_t {
  kUnknown,  // the specification has no such field
  kText,     // or bytes
  kMessage,
  kNumber,
  kIntegers,  // a list, as are the next two
  kFloats,
  kDoubles,
};

}  // namespace onnx_tag::onnx

namespace onnx_tag::model {

// A known number with another wire type is an unknown field to protobuf, and to
// us.
inline bool Is(const wire::Field& field, onnx::BytesField known) {
  return field.number == known.number && field.IsBytes();
}

inline bool IsInt(const wire::Field& field, onnx::VarintField known) {
  return field.number == known.number && field.IsVarint();
}

// Calls `use(field)` with each of these fields of a message.
template <typename Use>
void ForEach(Bytes message, onnx::BytesField wanted, const Use& use) {
  wire::FieldReader reader(message);
  for (wire::Field field; reader.Next(field);) {
    if (Is(field, wanted)) use(field);
  }
}

// The last of them, which counts if there are several; "" if there is none.
inline Bytes LastOf(Bytes message, onnx::BytesField wanted) {
  Bytes last;
  ForEach(message, wanted,
          [&](const wire::Field& field) { last = field.bytes; });
  return last;
}

// The same of a number.
inline std::int64_t LastInt(Bytes message, onnx::VarintField wanted,
                            std::int64_t otherwise) {
  wire::FieldReader reader(message);
  for (wire::Field field; reader.Next(field);) {
    if (IsInt(field, wanted)) {
      otherwise = static_cast<std::int64_t>(field.varint);
    }
  }
  return otherwise;
}

}  // namespace onnx_tag::model
