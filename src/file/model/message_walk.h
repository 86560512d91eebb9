// One walk over the messages of a file, by the specification's schema.
#ifndef ONNX_TAG_FILE_MODEL_MESSAGE_WALK_H_
#define ONNX_TAG_FILE_MODEL_MESSAGE_WALK_H_

#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::model {

// What the specification says of a field; one that it does not have holds
// kUnknown.
const onnx::FieldInfo& InfoOf(onnx::MessageType message, std::uint32_t number);

// Calls `visitor.Visit(field, info)` with every text, message, list and group
// in a message, in the order of the file; a group is a field that the
// specification does not have. Where that is true, the walk goes into the
// message that the field holds, and calls `visitor.Leave()` behind it.
template <typename Visitor>
void Walk(Bytes bytes, onnx::MessageType message, Visitor& visitor) {
  wire::FieldReader reader(bytes);
  for (wire::Field field; reader.Next(field);) {
    if (!field.IsBytes() && field.type != wire::WireType::kStartGroup) continue;
    const onnx::FieldInfo& info =
        InfoOf(message, field.IsBytes() ? field.number : 0);
    if (!visitor.Visit(field, info)) continue;
    Walk(field.bytes, info.child, visitor);
    visitor.Leave();
  }
}

}  // namespace onnx_tag::model

#endif  // ONNX_TAG_FILE_MODEL_MESSAGE_WALK_H_
