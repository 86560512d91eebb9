// A tiny language for encoded messages, valid or not:
//
//   Wire(Tag(7, kBytes), Length(2), "ab", LongVarint(5, 3))
//
// Parts are strings already encoded, so that any of them can be broken.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "file/wire/encoding.h"

namespace onnx_tag::test {

template <typename... Parts>
std::string Wire(const Parts&... parts) {
  std::string result;
  (result.append(std::string_view(parts)), ...);
  return result;
}

inline std::string Varint(std::uint64_t value) {
  std::string result;
  wire::AppendVarint(result, value);
  return result;
}

// `value` in `width` bytes, more than it needs.
inline std::string LongVarint(std::uint64_t value, std::size_t width) {
  std::string result;
  wire::AppendPaddedVarint(result, value, width);
  return result;
}

// Wire types also as the numbers that do not exist: 6 and 7.
inline std::string Tag(std::uint32_t number, int type) {
  return Varint(std::uint64_t{number} << 3 | static_cast<unsigned>(type));
}
inline std::string Tag(std::uint32_t number, wire::WireType type) {
  return Tag(number, static_cast<int>(type));
}

inline std::string VarintField(std::uint32_t number, std::uint64_t value) {
  return Tag(number, wire::WireType::kVarint) + Varint(value);
}

// A length-delimited field whose prefix has `width` bytes (0: as few as do).
inline std::string BytesField(std::uint32_t number, std::string_view payload,
                              std::size_t width = 0) {
  return Wire(
      Tag(number, wire::WireType::kLengthDelimited),
      width == 0 ? Varint(payload.size()) : LongVarint(payload.size(), width),
      payload);
}

inline std::string Group(std::uint32_t number, std::string_view content) {
  return Wire(Tag(number, wire::WireType::kStartGroup), content,
              Tag(number, wire::WireType::kEndGroup));
}

// `bytes` repeated `count` times.
inline std::string Repeat(std::string_view bytes, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result.append(bytes);
  return result;
}

}  // namespace onnx_tag::test
