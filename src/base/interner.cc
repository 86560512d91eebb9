#include "base/interner.h"

#include <cstring>

namespace onnx_tag {
namespace {

std::uint64_t Load(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint64_t Mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t kOdd1 = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t kOdd2 = 0xe7037ed1a0b428dbu;

}  // namespace

std::uint64_t HashBytes(std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = kOdd1 ^ (left * kOdd2);
  for (; left >= 16; at += 16, left -= 16) {
    hash = Mix(Load(at) ^ kOdd1, Load(at + 8) ^ hash);
  }
  char tail[16] = {};
  if (left != 0) std::memcpy(tail, at, left);
  return Mix(Load(tail) ^ kOdd2, Load(tail + 8) ^ hash ^ kOdd1);
}

}  // namespace onnx_tag
