#include "base/interner.h"

#include <cstring>

#include "base/hash.h"

namespace onnx_tag {
namespace {

std::uint64_t Load(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

constexpr std::uint64_t kOdd1 = kHashSeed;
constexpr std::uint64_t kOdd2 = 0xe7037ed1a0b428dbu;

}  // namespace

std::uint64_t HashBytes(std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = kOdd1 ^ (left * kOdd2);
  for (; left >= 16; at += 16, left -= 16) {
    hash = HashProduct(Load(at) ^ kOdd1, Load(at + 8) ^ hash);
  }
  char tail[16] = {};
  if (left != 0) std::memcpy(tail, at, left);
  return HashProduct(Load(tail) ^ kOdd2, Load(tail + 8) ^ hash ^ kOdd1);
}

}  // namespace onnx_tag
