#include "onnx_tag/interner.h"

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
  const char* const end = at + bytes.size();
  std::uint64_t hash = kOdd1 ^ (bytes.size() * kOdd2);
  for (; end - at > 16; at += 16) {
    hash = HashProduct(Load(at) ^ kOdd1, Load(at + 8) ^ hash);
  }
  // The last 16 bytes, of which some may be hashed again: copying the rest
  // would take longer.
  char few[16] = {};
  if (bytes.size() >= 16) {
    at = end - 16;
  } else {
    if (!bytes.empty()) std::memcpy(few, at, bytes.size());
    at = few;
  }
  return HashProduct(Load(at) ^ kOdd2, Load(at + 8) ^ hash ^ kOdd1);
}

}  // namespace onnx_tag
