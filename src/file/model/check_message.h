// Bytes that the reader passes over and that others may parse later: parameters
// of attributes, types, bindings. They are judged here, when the file is read,
// so that nobody has to expect malformed bytes afterwards.
//
// Numbers in a tensor are not needed to tag: where those of a small one cannot
// be read, the tensor is unreadable, not the file. Large ones are not looked
// at: that would load the weights. (`dims` are; lists of fixed-size numbers
// must have a length that fits.)
#ifndef ONNX_TAG_FILE_MODEL_CHECK_MESSAGE_H_
#define ONNX_TAG_FILE_MODEL_CHECK_MESSAGE_H_

#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::model {

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

#endif  // ONNX_TAG_FILE_MODEL_CHECK_MESSAGE_H_
