// Attributes of one node, read where they stand.
#ifndef ONNX_TAG_FILE_MODEL_ATTRIBUTES_H_
#define ONNX_TAG_FILE_MODEL_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag {

struct Attribute {
  std::optional<std::int64_t> number;  // `i`
  std::vector<std::int64_t> numbers;   // `ints`
  std::size_t floats = 0;              // how many
  std::vector<float> reals;            // the first of them, at most 16
  bool is_float = false;               // `f` is set
  float real = 0;                      // `f`
  std::string_view text;               // `s`
  Bytes tensor;                        // `t`, encoded
};

// An encoded AttributeProto.
Attribute ReadAttribute(Bytes attribute);

// The attribute of an encoded NodeProto, or nothing.
std::optional<Attribute> FindAttribute(Bytes node, std::string_view name);

// `i` of an attribute, or `otherwise`.
std::int64_t IntAttribute(Bytes node, std::string_view name,
                          std::int64_t otherwise);

struct TensorType {
  std::int32_t data_type = 0;
  std::vector<std::int64_t> dims;
};

// Of an encoded TensorProto; its data are not read.
TensorType ReadTensorType(Bytes tensor);

}  // namespace onnx_tag

#endif  // ONNX_TAG_FILE_MODEL_ATTRIBUTES_H_
