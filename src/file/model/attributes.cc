#include "file/model/attributes.h"

#include <cstring>

#include "base/bit_cast.h"
#include "file/model/field_kinds.h"

namespace onnx_tag {
namespace {

using model::Is;
using model::IsInt;
using onnx::AttributeProto;
using wire::Field;
using wire::FieldReader;

float RealOf(std::uint64_t bits) {
  return BitCast<float>(static_cast<std::uint32_t>(bits));
}

void AppendReals(const Field& part, std::vector<float>& reals) {
  if (!part.IsBytes()) return reals.push_back(RealOf(part.varint));
  const std::size_t before = reals.size();
  reals.resize(before + part.bytes.size() / sizeof(float));
  std::memcpy(reals.data() + before, part.bytes.data(),
              (reals.size() - before) * sizeof(float));
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
      AppendReals(part, attribute.reals);
    } else if (part.number == AttributeProto::kF && !part.IsBytes()) {
      attribute.real = RealOf(part.varint);
    } else if (Is(part, AttributeProto::kS)) {
      attribute.text = part.bytes;
    } else if (Is(part, AttributeProto::kStrings)) {
      ++attribute.texts;
    } else if (Is(part, AttributeProto::kT)) {
      attribute.tensor = part.bytes;
    } else if (Is(part, AttributeProto::kRefAttrName)) {
      attribute.reference = part.bytes;
    } else if (IsInt(part, AttributeProto::kType)) {
      attribute.type = static_cast<std::int32_t>(part.varint);
    }
  }
  return attribute;
}

std::optional<Attribute> FindAttribute(Bytes message, std::string_view name,
                                       onnx::BytesField wanted) {
  FieldReader reader(message);
  for (Field field; reader.Next(field);) {
    if (Is(field, wanted) &&
        model::LastOf(field.bytes, AttributeProto::kName) == name) {
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

bool HoldsGraph(Bytes attribute) {
  FieldReader reader(attribute);
  for (Field part; reader.Next(part);) {
    if (Is(part, AttributeProto::kG) || Is(part, AttributeProto::kGraphs)) {
      return true;
    }
  }
  return false;
}

}  // namespace onnx_tag

namespace onnx_tag::model {

MetadataEntry ReadEntry(const wire::Field& field, int depth) {
  MetadataEntry entry;
  entry.whole = field.whole;
  wire::FieldReader reader(field.bytes, depth);
  for (wire::Field part; reader.Next(part);) {
    if (Is(part, onnx::StringStringEntryProto::kKey)) {
      entry.key = part.bytes;
    } else if (Is(part, onnx::StringStringEntryProto::kValue)) {
      entry.value = part.bytes;
    }
  }
  return entry;
}

}  // namespace onnx_tag::model
