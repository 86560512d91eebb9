#include "file/model/tensor_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/bit_cast.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag {
namespace {

using model::Is;
using model::IsInt;
using onnx::TensorProto;
using wire::Field;
using wire::FieldReader;

// Bytes of an element in raw_data; what int32_data holds for types of a few
// bits is one byte of raw_data, too.
std::size_t WidthOf(std::int32_t data_type) {
  return (BitsPerElement(data_type) + 7) / 8;
}

void AppendNumber(std::uint64_t number, std::size_t width, std::string& to) {
  for (std::size_t i = 0; i < width; ++i) {
    to += static_cast<char>(number >> (8 * i));
  }
}

// Varints and single numbers; packed floats are as in raw_data. False where a
// number is cut off.
bool AppendTyped(const Field& field, std::size_t width, std::string& to) {
  const bool fixed = field.number == TensorProto::kFloatData ||
                     field.number == TensorProto::kDoubleData;
  if (fixed && field.IsBytes()) {
    to += field.bytes;
  } else if (fixed) {
    AppendNumber(field.varint, width, to);
  } else {
    return wire::TryForEachVarint(
        field, [&](std::uint64_t number) { AppendNumber(number, width, to); });
  }
  return true;
}

void ReadExternal(const Field& field, TensorData& tensor) {
  const MetadataEntry entry = model::ReadEntry(field);
  if (entry.key == "location") tensor.location = entry.value;
  if (entry.key == "offset") {
    tensor.offset = ParseWhole<std::uint64_t>(entry.value).value_or(0);
  }
  if (entry.key == "length") {
    tensor.length = ParseWhole<std::uint64_t>(entry.value);
  }
}

std::string ElementText(std::int32_t data_type, Bytes elements,
                        std::size_t index) {
  std::string text;
  UseElement(data_type, elements, index,
             [&](auto number) { text = fmt::format("{}", number); });
  return text;
}

// All but the elements.
TensorData ReadHeader(Bytes bytes) {
  TensorData tensor;
  FieldReader header(bytes);
  for (Field field; header.Next(field);) {
    if (field.number == TensorProto::kDims) {
      wire::ForEachVarint(field, [&](std::uint64_t dim) {
        tensor.dims.push_back(static_cast<std::int64_t>(dim));
      });
    } else if (IsInt(field, TensorProto::kDataType)) {
      tensor.data_type = static_cast<std::int32_t>(field.varint);
    } else if (Is(field, TensorProto::kName)) {
      tensor.name = field.bytes;
    } else if (Is(field, TensorProto::kRawData)) {
      tensor.raw = field.bytes;
    } else if (Is(field, TensorProto::kExternalData)) {
      ReadExternal(field, tensor);
    }
  }
  return tensor;
}

}  // namespace

double HalfOf(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t rest = (half & 0x7fffu) << 13;
  // The exponent is 112 too small, also of numbers without a leading 1.
  const std::uint32_t size =
      (half & 0x7c00) == 0x7c00
          ? rest | 0x7f800000
          : BitCast<std::uint32_t>(BitCast<float>(rest) * 0x1p112f);
  return BitCast<float>(sign | size);
}

TensorType ReadTensorType(Bytes tensor) { return ReadHeader(tensor); }

TensorData ReadTensorData(Bytes bytes) {
  TensorData tensor = ReadHeader(bytes);
  // The width of an element must be known before.
  const std::size_t width = WidthOf(tensor.data_type);
  bool readable = true;
  Bytes list;  // the only one, as raw_data has it
  FieldReader data(bytes);
  for (Field field; data.Next(field);) {
    switch (field.number) {
      case TensorProto::kFloatData.number:
      case TensorProto::kDoubleData.number:
        if (field.IsBytes() && list.empty() && tensor.converted.empty()) {
          list = field.bytes;
          break;
        }
        [[fallthrough]];
      case TensorProto::kInt32Data.number:
      case TensorProto::kInt64Data.number:
      case TensorProto::kUint64Data.number:
        tensor.converted += std::exchange(list, Bytes());
        readable &= AppendTyped(field, width, tensor.converted);
        break;
      case TensorProto::kStringData.number:
        AppendNumber(field.bytes.size(), 8, tensor.converted);
        tensor.converted += field.bytes;
        break;
      default:
        break;
    }
  }
  if (!readable) tensor.converted.clear();
  if (!list.empty()) tensor.raw = list;
  return tensor;
}

std::string ElementsText(const TensorData& tensor) {
  constexpr std::size_t kMostShown = 8;
  const std::size_t width = WidthOf(tensor.data_type);
  const Bytes elements = tensor.elements();
  if (width == 0 ||
      ElementText(tensor.data_type, std::string(16, '\0'), 0).empty()) {
    return "";
  }
  const std::size_t count = elements.size() / width;
  if (tensor.dims.empty() && count == 1) {
    return ElementText(tensor.data_type, elements, 0);
  }
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(count, kMostShown); ++i) {
    if (i > 0) text += ", ";
    text += ElementText(tensor.data_type, elements, i);
  }
  if (count > kMostShown) text += ", ...";
  return text + "]";
}

std::uint64_t CountElements(std::span<const std::int64_t> dims) {
  if (AnyIn(dims, [](std::int64_t dim) { return dim <= 0; })) return 0;
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) {
    const auto size = static_cast<std::uint64_t>(dim);
    count = count > kOver / size ? kOver : count * size;
  }
  return count;
}

}  // namespace onnx_tag
