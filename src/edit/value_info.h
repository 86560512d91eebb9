// Encoded ValueInfoProto and NodeProto messages for the main graph.
#ifndef ONNX_TAG_EDIT_VALUE_INFO_H_
#define ONNX_TAG_EDIT_VALUE_INFO_H_

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "edit/value_types.h"

namespace onnx_tag::edit {

// A ValueInfoProto called `name`. Its type is that of `known`, a
// ValueInfoProto of the file, where that has one; else what `type` says, with
// dimensions that are open.
std::string EncodeValueInfo(std::string_view name, Bytes known, ValueType type);

// Whether EncodeValueInfo() has all that ONNX's checker asks for: an element
// type and a rank.
bool IsComplete(Bytes known, ValueType type);

// "Identity" from `input` to `output`.
std::string EncodeIdentity(std::string_view name, std::string_view input,
                           std::string_view output);

}  // namespace onnx_tag::edit

#endif  // ONNX_TAG_EDIT_VALUE_INFO_H_
