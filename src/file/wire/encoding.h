// Protobuf's encoding, byte by byte: varints, tags, lengths.
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnx_tag/bytes.h"

namespace onnx_tag::wire {

enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

inline constexpr std::size_t kMaxVarintWidth = 10;
// protobuf's C++ parser accepts at most 5 bytes for a length (and for a tag),
// also with padding. upb, Python's parser, would accept 10.
inline constexpr std::size_t kMaxLengthWidth = 5;
// The C++ parser's bound on one length: INT_MAX less 16 bytes of slop.
inline constexpr std::uint64_t kMaxLength = 0x7fffffef;
// How deep messages and groups may be nested, without the file itself.
inline constexpr int kMaxDepth = 100;

// The number of bytes of `value` without padding: 1 to 10.
constexpr std::size_t VarintSize(std::uint64_t value) {
  // 7 bits per byte; the division by 7 is written as a multiplication.
  return (static_cast<std::size_t>(std::bit_width(value | 1)) * 9 + 64) / 64;
}

constexpr std::uint64_t MakeTag(std::uint32_t number, WireType type) {
  return std::uint64_t{number} << 3 | static_cast<std::uint8_t>(type);
}

// The number of bytes of a length-delimited field, with tag and prefix.
constexpr std::uint64_t LengthDelimitedSize(std::uint32_t number,
                                            std::uint64_t payload_size) {
  return VarintSize(MakeTag(number, WireType::kLengthDelimited)) +
         VarintSize(payload_size) + payload_size;
}

// Appends `value` in exactly `width` bytes, with padding if it needs fewer.
// REQUIRES: VarintSize(value) <= width <= 10.
inline void AppendPaddedVarint(std::string& out, std::uint64_t value,
                               std::size_t width) {
  for (; width > 1; --width, value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

inline void AppendVarint(std::string& out, std::uint64_t value) {
  AppendPaddedVarint(out, value, VarintSize(value));
}

inline void AppendTag(std::string& out, std::uint32_t number, WireType type) {
  AppendVarint(out, MakeTag(number, type));
}

inline void AppendVarintField(std::string& out, std::uint32_t number,
                              std::uint64_t value) {
  AppendTag(out, number, WireType::kVarint);
  AppendVarint(out, value);
}

inline void AppendLengthDelimited(std::string& out, std::uint32_t number,
                                  Bytes payload) {
  AppendTag(out, number, WireType::kLengthDelimited);
  AppendVarint(out, payload.size());
  out.append(payload);
}

}  // namespace onnx_tag::wire
