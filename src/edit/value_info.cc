#include "edit/value_info.h"

#include "model/field_kinds.h"
#include "model/onnx_fields.h"
#include "wire/encoding.h"
#include "wire/field_reader.h"

namespace onnx_tag::edit {
namespace {

using model::Is;
using wire::Field;
using wire::FieldReader;

// The encoded TypeProto of a ValueInfoProto; empty if there is none.
Bytes TypeIn(Bytes info) {
  Bytes type;
  FieldReader reader(info);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::ValueInfoProto::kType)) type = field.bytes;
  }
  return type;
}

// Whether a type says all that the checker asks for. Types that are no tensors
// are taken as they are.
bool SaysAll(Bytes type) {
  if (type.empty()) return false;
  FieldReader reader(type);
  for (Field field; reader.Next(field);) {
    if (!Is(field, onnx::TypeProto::kTensorType)) continue;
    bool element = false;
    bool shape = false;
    FieldReader parts(field.bytes);
    for (Field part; parts.Next(part);) {
      element |= model::IsInt(part, onnx::TypeProtoTensor::kElemType) &&
                 part.varint != 0;
      shape |= Is(part, onnx::TypeProtoTensor::kShape);
    }
    return element && shape;
  }
  return true;
}

std::string EncodeType(ValueType type) {
  std::string tensor;
  wire::AppendVarintField(tensor, onnx::TypeProtoTensor::kElemType,
                          static_cast<std::uint64_t>(type.element));
  if (type.rank >= 0) {
    std::string shape;
    for (std::int32_t i = 0; i < type.rank; ++i) {
      wire::AppendLengthDelimited(shape, onnx::TensorShapeProto::kDim, "");
    }
    wire::AppendLengthDelimited(tensor, onnx::TypeProtoTensor::kShape, shape);
  }
  std::string encoded;
  wire::AppendLengthDelimited(encoded, onnx::TypeProto::kTensorType, tensor);
  return encoded;
}

}  // namespace

bool IsComplete(Bytes known, ValueType type) {
  return SaysAll(TypeIn(known)) ||
         (type.element != kUndefined && type.rank >= 0);
}

std::string EncodeValueInfo(std::string_view name, Bytes known,
                            ValueType type) {
  std::string info;
  wire::AppendLengthDelimited(info, onnx::ValueInfoProto::kName, name);
  const Bytes said = TypeIn(known);
  if (SaysAll(said) || (!said.empty() && type.element == kUndefined)) {
    wire::AppendLengthDelimited(info, onnx::ValueInfoProto::kType, said);
  } else if (type.element != kUndefined) {
    wire::AppendLengthDelimited(info, onnx::ValueInfoProto::kType,
                                EncodeType(type));
  }
  return info;
}

std::string EncodeIdentity(std::string_view name, std::string_view input,
                           std::string_view output) {
  std::string node;
  wire::AppendLengthDelimited(node, onnx::NodeProto::kInput, input);
  wire::AppendLengthDelimited(node, onnx::NodeProto::kOutput, output);
  wire::AppendLengthDelimited(node, onnx::NodeProto::kName, name);
  wire::AppendLengthDelimited(node, onnx::NodeProto::kOpType, "Identity");
  return node;
}

}  // namespace onnx_tag::edit
