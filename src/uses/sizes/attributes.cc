#include "uses/sizes/attributes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/model/tensor_data.h"
#include "file/wire/field_reader.h"
#include "uses/sizes/element_types.h"

namespace onnx_tag::sizes {
namespace {

using model::Is;
using model::IsInt;
using wire::Field;
using wire::FieldReader;

// Exporters write the least number of the type for "before the begin".
std::int64_t Signed(std::uint64_t number) {
  return std::max(static_cast<std::int64_t>(number), -(std::int64_t{1} << 62));
}

// The attribute of this name among the fields `number` of a message.
Bytes FindAmong(Bytes message, onnx::BytesField number, std::string_view name,
                std::string_view& reference) {
  FieldReader reader(message);
  for (Field field; reader.Next(field);) {
    if (!Is(field, number)) continue;
    bool wanted = false;
    reference = {};
    FieldReader parts(field.bytes);
    for (Field part; parts.Next(part);) {
      if (Is(part, onnx::AttributeProto::kName)) wanted = part.bytes == name;
      if (Is(part, onnx::AttributeProto::kRefAttrName)) reference = part.bytes;
    }
    if (wanted) return field.bytes;
  }
  reference = {};
  return {};
}

template <typename Number>
Number ReadAt(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

template <typename Element>
void AppendRaw(Bytes raw, std::vector<Number>& numbers) {
  for (std::size_t at = 0; at + sizeof(Element) <= raw.size();
       at += sizeof(Element)) {
    const Element element = ReadAt<Element>(raw.data() + at);
    if constexpr (std::is_floating_point_v<Element>) {
      numbers.push_back(NumberOf(static_cast<double>(element)));
    } else {
      numbers.push_back({Signed(static_cast<std::uint64_t>(element))});
    }
  }
}

double HalfOf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return std::nan("");
  const double size = exponent == 0
                          ? std::ldexp(fraction, -24)
                          : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

void AppendRaw(std::int32_t type, Bytes raw, std::vector<Number>& numbers) {
  if (type == kFloat) AppendRaw<float>(raw, numbers);
  if (type == kDouble) AppendRaw<double>(raw, numbers);
  if (type == kInt32) AppendRaw<std::int32_t>(raw, numbers);
  if (type == kInt64) AppendRaw<std::int64_t>(raw, numbers);
  if (type == kBool || type == kUint8) AppendRaw<std::uint8_t>(raw, numbers);
  for (std::size_t at = 0; type == kFloat16 && at + 2 <= raw.size(); at += 2) {
    numbers.push_back(NumberOf(HalfOf(ReadAt<std::uint16_t>(raw.data() + at))));
  }
}

void ForEachFloat(const Field& field, auto&& take) {
  if (!field.IsBytes()) {
    const auto bits = static_cast<std::uint32_t>(field.varint);
    return take(ReadAt<float>(reinterpret_cast<const char*>(&bits)));
  }
  for (std::size_t at = 0; at + sizeof(float) <= field.bytes.size();
       at += sizeof(float)) {
    take(ReadAt<float>(field.bytes.data() + at));
  }
}

}  // namespace

Bytes Attributes::Find(std::string_view name) const {
  std::string_view reference;
  Bytes found = FindAmong(node_, onnx::NodeProto::kAttribute, name, reference);
  for (const Call* call = call_; !reference.empty(); call = call->outside) {
    if (call == nullptr) return {};
    const std::string_view wanted = reference;
    found =
        FindAmong(call->node, onnx::NodeProto::kAttribute, wanted, reference);
    if (found.empty()) {
      found = FindAmong(call->function, onnx::FunctionProto::kAttributeProto,
                        wanted, reference);
      reference = {};
    }
  }
  return found;
}

std::optional<Ints> Attributes::IntList(std::string_view name) const {
  std::optional<Ints> ints;
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (part.number == onnx::AttributeProto::kInts) {
      if (!ints) ints.emplace();
      wire::ForEachVarint(
          part, [&](std::uint64_t number) { ints->push_back(Signed(number)); });
    } else if (IsInt(part, onnx::AttributeProto::kType) && !ints) {
      constexpr std::uint64_t kIntsType = 7;  // an empty list says only this
      if (part.varint == kIntsType) ints.emplace();
    }
  }
  return ints;
}

std::int64_t Attributes::Int(std::string_view name,
                             std::int64_t otherwise) const {
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (IsInt(part, onnx::AttributeProto::kI)) {
      otherwise = Signed(part.varint);
    }
  }
  return otherwise;
}

std::optional<std::vector<float>> Attributes::FloatList(
    std::string_view name) const {
  std::optional<std::vector<float>> floats;
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (part.number != onnx::AttributeProto::kFloats) continue;
    if (!floats) floats.emplace();
    ForEachFloat(part, [&](float number) { floats->push_back(number); });
  }
  return floats;
}

std::optional<float> Attributes::Float(std::string_view name) const {
  std::optional<float> number;
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (part.number != onnx::AttributeProto::kF || part.IsBytes()) continue;
    ForEachFloat(part, [&](float f) { number = f; });
  }
  return number;
}

std::string_view Attributes::Text(std::string_view name) const {
  std::string_view text;
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (Is(part, onnx::AttributeProto::kS)) text = part.bytes;
  }
  return text;
}

std::size_t Attributes::TextCount(std::string_view name) const {
  std::size_t count = 0;
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (Is(part, onnx::AttributeProto::kStrings)) ++count;
  }
  return count;
}

Bytes Attributes::Tensor(std::string_view name) const {
  Bytes tensor;
  FieldReader parts(Find(name));
  for (Field part; parts.Next(part);) {
    if (Is(part, onnx::AttributeProto::kT)) tensor = part.bytes;
  }
  return tensor;
}

SmallTensor ReadSmallTensor(Bytes bytes) {
  SmallTensor tensor;
  std::vector<Number> numbers;
  bool readable = true;
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
      continue;
    } else if (field.number == onnx::TensorProto::kFloatData) {
      if (field.bytes.size() > 4 * kMostElements) continue;
      ForEachFloat(field,
                   [&](float f) { numbers.push_back(NumberOf(double{f})); });
    } else if (field.number == onnx::TensorProto::kInt64Data ||
               field.number == onnx::TensorProto::kInt32Data) {
      if (field.bytes.size() > 10 * kMostElements) continue;
      readable &= wire::TryForEachVarint(field, [&](std::uint64_t number) {
        numbers.push_back(
            tensor.data_type == kFloat16
                ? NumberOf(HalfOf(static_cast<std::uint16_t>(number)))
                : Number{Signed(number)});
      });
    }
  }
  const std::uint64_t elements = CountElements(tensor.dims);
  if (elements > kMostElements) return tensor;
  if (raw.size() <= 8 * kMostElements) {
    AppendRaw(tensor.data_type, raw, numbers);
  }
  if (readable && numbers.size() == elements) {
    tensor.numbers = NumbersOf(std::move(numbers));
  }
  return tensor;
}

}  // namespace onnx_tag::sizes
