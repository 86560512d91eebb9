// One walk over the messages of a file, and a verdict on them, by the
// specification's schema.
#pragma once

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

// Bytes that the reader passes over and that others may parse later: parameters
// of attributes, types, bindings. They are judged here, when the file is read,
// so that nobody has to expect malformed bytes afterwards.
//
// Numbers in a tensor are not needed to tag: where those of a small one cannot
// be read, the tensor is unreadable, not the file. Large ones are not looked
// at: that would load the weights. (`dims` are; lists of fixed-size numbers
// must have a length that fits.)

// The depth of what is inside `field`, a message in one that is nested `depth`
// deep. Throws WireError past what protobuf accepts.
int Deeper(const wire::Field& field, int depth);

// Judges `field`, a field of a message `in`, which is nested `depth` deep.
// Throws WireError if protobuf refuses it, but for the numbers of a tensor:
// those set `unreadable`.
void CheckField(const wire::Field& field, onnx::MessageType in, int depth,
                bool& unreadable);
// The same for messages without tensors.
inline void CheckField(const wire::Field& field, onnx::MessageType in,
                       int depth) {
  bool unreadable = false;
  CheckField(field, in, depth, unreadable);
}

// The same for an attribute of a node. True if it holds graphs, which it leaves
// to the caller.
bool CheckAttribute(const wire::Field& field, int depth, bool& unreadable);

}  // namespace onnx_tag::model
