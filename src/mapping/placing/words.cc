#include "mapping/placing/words.h"

#include <string>

#include "base/letters.h"
#include "mapping/placing/scene.h"

namespace onnx_tag::placing {
namespace {

constexpr std::uint32_t kOffset = 2166136261u;
constexpr std::uint32_t kPrime = 16777619u;

bool IsSmall(char c) { return c >= 'a' && c <= 'z'; }

std::uint16_t IdOf(std::string_view word) {
  return static_cast<std::uint16_t>(1 + HashWord(word) % (kWords - 1));
}

}  // namespace

std::uint32_t HashWord(std::string_view word, std::uint32_t seed) {
  std::uint32_t hash = kOffset ^ seed;
  for (const char c : word) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  return hash;
}

std::uint32_t HashNumber(std::int64_t number, std::uint32_t seed) {
  auto rest = static_cast<std::uint64_t>(number);
  std::uint32_t hash = kOffset ^ seed;
  for (int i = 0; i < 8; ++i, rest >>= 8) {
    hash = (hash ^ static_cast<std::uint32_t>(rest & 0xff)) * kPrime;
  }
  return hash;
}

void SetWords(std::string_view atom, std::uint16_t* ids) {
  for (std::size_t i = 0; i < kWordsOfName; ++i) ids[i] = 0;
  if (atom == "^" || atom == "-") {
    ids[0] = IdOf(atom);
    return;
  }
  constexpr std::size_t kMostBytes = 64;
  std::size_t count = 0;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty() && count < kWordsOfName) ids[count++] = IdOf(word);
    word.clear();
  };
  char before = ' ';
  for (const char c : atom.substr(0, kMostBytes)) {
    if (IsDigit(c)) {
      if (!word.ends_with('#')) word += '#';
    } else if (IsLetter(c)) {
      if (IsSmall(before) && !IsSmall(c)) end_word();
      word += IsSmall(c) ? c : static_cast<char>(c - 'A' + 'a');
    } else {
      end_word();
    }
    before = c;
  }
  end_word();
  if (count == 0) ids[0] = IdOf("?");
}

}  // namespace onnx_tag::placing
