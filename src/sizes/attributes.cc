#include "sizes/attributes.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "model/element_count.h"
#include "model/field_kinds.h"
#include "model/onnx_fields.h"
#include "wire/field_reader.h"

namespace onnx_tag::sizes {
namespace {

using model::Is;
using model::IsInt;
using wire::Field;
using wire::FieldReader;

// Calls `take` with each field of the attribute of this name.
void ForEachPart(Bytes node, std::string_view name,
                 const std::function<void(const Field&)>& take) {
  FieldReader reader(node);
  for (Field field; reader.Next(field);) {
    if (!Is(field, onnx::NodeProto::kAttribute)) continue;
    bool wanted = false;
    FieldReader names(field.bytes);
    for (Field part; names.Next(part);) {
      if (Is(part, onnx::AttributeProto::kName)) wanted = part.bytes == name;
    }
    if (!wanted) continue;
    FieldReader parts(field.bytes);
    for (Field part; parts.Next(part);) take(part);
  }
}

template <typename Number>
void AppendRaw(Bytes raw, std::vector<double>& numbers) {
  for (std::size_t at = 0; at + sizeof(Number) <= raw.size();
       at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, raw.data() + at, sizeof(Number));
    numbers.push_back(static_cast<double>(number));
  }
}

std::int64_t Cut(std::uint64_t number) {
  return std::clamp(static_cast<std::int64_t>(number), -kMostDim, kMostDim);
}

// A field of TensorProto.
constexpr std::uint32_t kFloatData = 4;

enum : std::int32_t { kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9 };

void AppendRaw(std::int32_t type, Bytes raw, std::vector<double>& numbers) {
  if (type == kFloat) AppendRaw<float>(raw, numbers);
  if (type == kInt32) AppendRaw<std::int32_t>(raw, numbers);
  if (type == kInt64) AppendRaw<std::int64_t>(raw, numbers);
  if (type == kBool) AppendRaw<std::uint8_t>(raw, numbers);
}

void AppendFloat(const Field& field, std::vector<double>& numbers) {
  if (field.IsBytes()) return AppendRaw<float>(field.bytes, numbers);
  const auto bits = static_cast<std::uint32_t>(field.varint);
  float number;
  std::memcpy(&number, &bits, sizeof number);
  numbers.push_back(static_cast<double>(number));
}

}  // namespace

bool Attributes::Has(std::string_view name) const {
  bool has = false;
  ForEachPart(node_, name, [&](const Field&) { has = true; });
  return has;
}

std::optional<std::vector<std::int64_t>> Attributes::Ints(
    std::string_view name) const {
  std::optional<std::vector<std::int64_t>> ints;
  ForEachPart(node_, name, [&](const Field& part) {
    if (part.number != onnx::AttributeProto::kInts) return;
    if (!ints) ints.emplace();
    wire::ForEachVarint(
        part, [&](std::uint64_t number) { ints->push_back(Cut(number)); });
  });
  return ints;
}

std::int64_t Attributes::Int(std::string_view name,
                             std::int64_t otherwise) const {
  ForEachPart(node_, name, [&](const Field& part) {
    if (IsInt(part, onnx::AttributeProto::kI)) {
      otherwise = Cut(part.varint);
    }
  });
  return otherwise;
}

std::string_view Attributes::Text(std::string_view name) const {
  std::string_view text;
  ForEachPart(node_, name, [&](const Field& part) {
    if (Is(part, onnx::AttributeProto::kS)) text = part.bytes;
  });
  return text;
}

Bytes Attributes::Tensor(std::string_view name) const {
  Bytes tensor;
  ForEachPart(node_, name, [&](const Field& part) {
    if (Is(part, onnx::AttributeProto::kT)) tensor = part.bytes;
  });
  return tensor;
}

SmallTensor ReadSmallTensor(Bytes bytes) {
  SmallTensor tensor;
  std::vector<double> numbers;
  Bytes raw;
  FieldReader reader(bytes);
  for (Field field; reader.Next(field);) {
    if (field.number == onnx::TensorProto::kDims) {
      wire::ForEachVarint(field, [&](std::uint64_t dim) {
        tensor.dims.push_back(static_cast<std::int64_t>(dim));
      });
    } else if (IsInt(field, onnx::TensorProto::kDataType)) {
      tensor.data_type = static_cast<std::int32_t>(field.varint);
    } else if (Is(field, onnx::TensorProto::kRawData)) {
      raw = field.bytes;
    } else if (numbers.size() > kMostElements) {
      break;
    } else if (field.number == kFloatData) {
      if (field.bytes.size() <= 4 * kMostElements) AppendFloat(field, numbers);
    } else if (field.number == onnx::TensorProto::kInt64Data ||
               field.number == onnx::TensorProto::kInt32Data) {
      if (field.bytes.size() > 10 * kMostElements) continue;
      wire::ForEachVarint(field, [&](std::uint64_t number) {
        numbers.push_back(
            static_cast<double>(static_cast<std::int64_t>(number)));
      });
    }
  }
  const std::uint64_t elements = CountElements(tensor.dims);
  if (elements > kMostElements) return tensor;
  if (raw.size() <= 8 * kMostElements) {
    AppendRaw(tensor.data_type, raw, numbers);
  }
  if (numbers.size() == elements) tensor.numbers = std::move(numbers);
  return tensor;
}

}  // namespace onnx_tag::sizes
