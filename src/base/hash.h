// Combines numbers into a hash that lives no longer than the program. What is
// stored is hashed by xxHash (core/tagging/fingerprint.cc).
#pragma once

#include <cstdint>

namespace onnx_tag {

constexpr std::uint64_t kHashSeed = 0x9e3779b97f4a7c15u;

// Both halves of the product: every bit of the operands reaches every bit of
// the result.
inline std::uint64_t HashProduct(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64);
}

// `hash` with `value` added; the order counts.
inline std::uint64_t HashMix(std::uint64_t hash, std::uint64_t value) {
  return HashProduct(hash ^ kHashSeed, value ^ 0xe7037ed1a0b428dbu);
}

}  // namespace onnx_tag
