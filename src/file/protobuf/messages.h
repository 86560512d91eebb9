// Small whole messages, read and built with protobuf's generated classes.
//
// The graph itself is never parsed: file/model/reader.h walks over it. In a
// build with -DONNX_TAG_PROTOBUF=OFF these functions throw Error(kUsage).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/bytes.h"

namespace onnx_tag::protobuf {

// A number, a name, or neither: left open.
struct TensorDim {
  std::int64_t number = -1;
  std::string name = {};
};

struct TensorType {
  std::int32_t element = 0;  // a number of TensorProto.DataType; 0: unknown
  std::optional<std::vector<TensorDim>> dims = {};  // none: the rank is unknown
  bool sequence = false;                            // of such tensors
};

// An encoded ValueInfoProto with this name. `known` is an encoded
// ValueInfoProto of the file, or empty; its type is copied if it is neither
// tensor nor sequence, or if `type` has no element type.
std::string BuildValueInfo(std::string_view name, Bytes known,
                           const TensorType& type);

// Whether BuildValueInfo() has all that ONNX's checker requires: an element
// type and a rank. Types other than tensors are accepted as they are.
bool IsCompleteInfo(Bytes known, const TensorType& type);

// An encoded NodeProto: "Identity" from `input` to `output`.
std::string BuildIdentity(std::string_view name, std::string_view input,
                          std::string_view output);

// An encoded StringStringEntryProto.
std::string BuildMetadataEntry(std::string_view key, std::string_view value);

}  // namespace onnx_tag::protobuf
