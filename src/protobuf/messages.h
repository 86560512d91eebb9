// Small whole messages, read and built with protobuf's generated classes.
//
// The graph itself is never parsed: model/reader.h walks over it. In a build
// with -DONNX_TAG_PROTOBUF=OFF these functions throw Error(kUsage).
#ifndef ONNX_TAG_PROTOBUF_MESSAGES_H_
#define ONNX_TAG_PROTOBUF_MESSAGES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace onnx_tag::protobuf {

struct TensorType {
  std::int32_t element = 0;  // a number of TensorProto.DataType; 0: unknown
  std::int32_t rank = -1;    // -1: unknown
};

// An encoded ValueInfoProto with this name. `known` is an encoded
// ValueInfoProto of the file, or empty. If `known` has a complete type, the
// type is copied. Else `type` is used, with open dimensions.
std::string BuildValueInfo(std::string_view name, Bytes known, TensorType type);

// Whether BuildValueInfo() has all that ONNX's checker requires: an element
// type and a rank. Types other than tensors are accepted as they are.
bool IsCompleteInfo(Bytes known, TensorType type);

// An encoded NodeProto: "Identity" from `input` to `output`.
std::string BuildIdentity(std::string_view name, std::string_view input,
                          std::string_view output);

// An encoded StringStringEntryProto.
std::string BuildMetadataEntry(std::string_view key, std::string_view value);

}  // namespace onnx_tag::protobuf

#endif  // ONNX_TAG_PROTOBUF_MESSAGES_H_
