// Checks the number and wire type of a field.
#ifndef ONNX_TAG_FILE_MODEL_FIELD_KINDS_H_
#define ONNX_TAG_FILE_MODEL_FIELD_KINDS_H_

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

}  // namespace onnx_tag::model

#endif  // ONNX_TAG_FILE_MODEL_FIELD_KINDS_H_
