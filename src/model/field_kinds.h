// What a field of a message is.
#ifndef ONNX_TAG_MODEL_FIELD_KINDS_H_
#define ONNX_TAG_MODEL_FIELD_KINDS_H_

#include <cstdint>

#include "wire/field_reader.h"

namespace onnx_tag::model {

// `field` is a text or message with this number. A known number with another
// wire type is an unknown field to protobuf, and to us.
inline bool Is(const wire::Field& field, std::uint32_t number) {
  return field.number == number && field.IsBytes();
}

inline bool IsInt(const wire::Field& field, std::uint32_t number) {
  return field.number == number && field.IsVarint();
}

}  // namespace onnx_tag::model

#endif  // ONNX_TAG_MODEL_FIELD_KINDS_H_
