#include "file/model/attributes.h"

#include <cstring>

#include "base/bit_cast.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag {
namespace {

using model::Is;
using model::IsInt;
using onnx::AttributeProto;
using wire::Field;
using wire::FieldReader;

bool HasName(Bytes attribute, std::string_view name) {
  bool same = false;
  FieldReader reader(attribute);
  for (Field part; reader.Next(part);) {
    if (Is(part, AttributeProto::kName)) same = part.bytes == name;
  }
  return same;
}

float RealOf(std::uint64_t bits) {
  return BitCast<float>(static_cast<std::uint32_t>(bits));
}

void AppendReals(const Field& part, std::vector<float>& reals) {
  constexpr std::size_t kMostReals = 16;
  if (!part.IsBytes()) {
    if (reals.size() < kMostReals) reals.push_back(RealOf(part.varint));
    return;
  }
  for (std::size_t at = 0;
       at + sizeof(float) <= part.bytes.size() && reals.size() < kMostReals;
       at += sizeof(float)) {
    float real = 0;
    std::memcpy(&real, part.bytes.data() + at, sizeof real);
    reals.push_back(real);
  }
}

}  // namespace

Attribute ReadAttribute(Bytes bytes) {
  Attribute attribute;
  FieldReader reader(bytes);
  for (Field part; reader.Next(part);) {
    if (IsInt(part, AttributeProto::kI)) {
      attribute.number = static_cast<std::int64_t>(part.varint);
    } else if (part.number == AttributeProto::kInts) {
      wire::ForEachVarint(part, [&](std::uint64_t value) {
        attribute.numbers.push_back(static_cast<std::int64_t>(value));
      });
    } else if (part.number == AttributeProto::kFloats) {
      attribute.floats += part.IsBytes() ? part.bytes.size() / 4 : 1;
      AppendReals(part, attribute.reals);
    } else if (part.number == AttributeProto::kF) {
      attribute.is_float = true;
      attribute.real = RealOf(part.varint);
    } else if (Is(part, AttributeProto::kS)) {
      attribute.text = part.bytes;
    } else if (Is(part, AttributeProto::kT)) {
      attribute.tensor = part.bytes;
    }
  }
  return attribute;
}

std::optional<Attribute> FindAttribute(Bytes node, std::string_view name) {
  FieldReader reader(node);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::NodeProto::kAttribute) && HasName(field.bytes, name)) {
      return ReadAttribute(field.bytes);
    }
  }
  return std::nullopt;
}

std::int64_t IntAttribute(Bytes node, std::string_view name,
                          std::int64_t otherwise) {
  const std::optional<Attribute> attribute = FindAttribute(node, name);
  return attribute && attribute->number ? *attribute->number : otherwise;
}

TensorType ReadTensorType(Bytes tensor) {
  TensorType type;
  FieldReader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (field.number == onnx::TensorProto::kDataType) {
      type.data_type = static_cast<std::int32_t>(field.varint);
    } else if (field.number == onnx::TensorProto::kDims) {
      wire::ForEachVarint(field, [&](std::uint64_t value) {
        type.dims.push_back(static_cast<std::int64_t>(value));
      });
    }
  }
  return type;
}

}  // namespace onnx_tag
