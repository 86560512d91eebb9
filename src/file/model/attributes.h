// Attributes of one node and entries of metadata, read where they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/bytes.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

struct Attribute {
  std::optional<std::int64_t> number;  // `i`
  std::optional<float> real;           // `f`
  std::vector<std::int64_t> numbers;   // `ints`
  std::vector<float> reals;            // `floats`
  std::string_view text;               // `s`
  std::size_t texts = 0;               // how many `strings`
  Bytes tensor;                        // `t`, encoded
  std::string_view reference;          // `ref_attr_name`
  std::int32_t type = 0;               // a number of AttributeType

  // A list may be empty; then only the type says that it is one.
  bool has_numbers() const { return !numbers.empty() || type == 7; }
  bool has_reals() const { return !reals.empty() || type == 6; }
};

// An encoded AttributeProto.
Attribute ReadAttribute(Bytes attribute);

// The attribute of an encoded NodeProto, or of another message that has
// attributes in `field`; nothing if there is none.
std::optional<Attribute> FindAttribute(
    Bytes message, std::string_view name,
    onnx::BytesField field = onnx::NodeProto::kAttribute);

// `i` of an attribute, or `otherwise`.
std::int64_t IntAttribute(Bytes node, std::string_view name,
                          std::int64_t otherwise);

// Whether an encoded AttributeProto holds graphs.
bool HoldsGraph(Bytes attribute);

namespace model {

// A key and its value: of metadata, and of weights in other files. `field`
// holds a StringStringEntryProto, `depth` messages deep in the file.
MetadataEntry ReadEntry(const wire::Field& field, int depth = 0);

}  // namespace model

}  // namespace onnx_tag
