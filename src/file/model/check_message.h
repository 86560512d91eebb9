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

#include "file/wire/field_reader.h"

namespace onnx_tag::model {

enum class MessageKind : std::uint8_t {
  kOther,  // not a message, or one that the ONNX specification does not have
  kIntegers,
  kNumbers,  // of a tensor, as varints
  kFixed32s,
  kFixed64s,
  kGraph,
  kNode,
  kAttribute,
  kValueInfo,
  kTensor,
  kSparseTensor,
  kEntry,
  kOpset,
  kType,
  kTensorType,
  kElementType,  // of a sequence or an optional
  kShape,
  kDimension,
};

// The depth of what is inside `field`, a message in one that is nested `depth`
// deep. Throws WireError past what protobuf accepts.
int Deeper(const wire::Field& field, int depth);

// Judges `field`, a field of a message that is nested `depth` deep. Throws
// WireError if protobuf refuses it, but for the numbers of a tensor: those set
// `unreadable`.
void CheckField(const wire::Field& field, MessageKind kind, int depth,
                bool& unreadable);
// The same for messages without tensors.
inline void CheckField(const wire::Field& field, MessageKind kind, int depth) {
  bool unreadable = false;
  CheckField(field, kind, depth, unreadable);
}

// The same for a field of a tensor.
void CheckTensorField(const wire::Field& field, int depth, bool& unreadable);

// The same for an attribute. True if it holds graphs, which it leaves to
// the caller.
bool CheckAttribute(const wire::Field& field, int depth, bool& unreadable);

}  // namespace onnx_tag::model

#endif  // ONNX_TAG_FILE_MODEL_CHECK_MESSAGE_H_
