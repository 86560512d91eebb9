#include "file/model/element_types.h"

#include <array>

namespace onnx_tag {
namespace {

struct ElementType {
  std::string_view name;
  std::uint32_t bits;
};

// By number, as in TensorProto.DataType.
constexpr std::array<ElementType, 27> kTypes = {{{"", 0},
                                                 {"float32", 32},
                                                 {"uint8", 8},
                                                 {"int8", 8},
                                                 {"uint16", 16},
                                                 {"int16", 16},
                                                 {"int32", 32},
                                                 {"int64", 64},
                                                 {"string", 0},
                                                 {"bool", 8},
                                                 {"float16", 16},
                                                 {"float64", 64},
                                                 {"uint32", 32},
                                                 {"uint64", 64},
                                                 {"complex64", 64},
                                                 {"complex128", 128},
                                                 {"bfloat16", 16},
                                                 {"float8e4m3fn", 8},
                                                 {"float8e4m3fnuz", 8},
                                                 {"float8e5m2", 8},
                                                 {"float8e5m2fnuz", 8},
                                                 {"uint4", 4},
                                                 {"int4", 4},
                                                 {"float4e2m1", 4},
                                                 {"float8e8m0", 8},
                                                 {"uint2", 2},
                                                 {"int2", 2}}};

const ElementType& Find(std::int32_t data_type) {
  const auto index = static_cast<std::size_t>(data_type);
  return kTypes[data_type < 0 || index >= kTypes.size() ? 0 : index];
}

}  // namespace

std::string_view TypeName(std::int32_t data_type) {
  return Find(data_type).name;
}

std::string_view TypeNameOrUnknown(std::int32_t data_type) {
  const std::string_view name = TypeName(data_type);
  return name.empty() ? "unknown" : name;
}

bool IsInteger(std::int32_t data_type) {
  const std::string_view name = TypeName(data_type);
  return name.starts_with("int") || name.starts_with("uint");
}

std::uint32_t BitsPerElement(std::int32_t data_type) {
  return Find(data_type).bits;
}

std::uint64_t CountBytes(std::uint64_t elements, std::int32_t data_type) {
  const std::uint64_t bits = BitsPerElement(data_type);
  // 2^60 elements of 128 bits are over.
  if (elements >= kOver / 8) return bits == 0 ? 0 : kOver;
  return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

}  // namespace onnx_tag
