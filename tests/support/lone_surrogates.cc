#include "support/lone_surrogates.h"

#include <algorithm>

namespace onnx_tag::test {
namespace {

// U+10FF7F, private: in front of what stands for a byte. Names may hold it all
// the same, and then it is doubled.
constexpr std::string_view kMark = "\xf4\x8f\xbd\xbf";
constexpr std::string_view kTwoMarks = "\xf4\x8f\xbd\xbf\xf4\x8f\xbd\xbf";

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
         (c >= 'A' && c <= 'F');
}

char Lower(char c) {
  return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
}

// `text` starts with an escape \udNXX.
bool IsSurrogate(std::string_view text, char n) {
  return text.size() >= 6 && text[0] == '\\' && text[1] == 'u' &&
         Lower(text[2]) == 'd' && Lower(text[3]) == n && IsHex(text[4]) &&
         IsHex(text[5]);
}

bool IsHighSurrogate(std::string_view text) {
  return IsSurrogate(text, '8') || IsSurrogate(text, '9') ||
         IsSurrogate(text, 'a') || IsSurrogate(text, 'b');
}

// `text` starts with `word`, hexadecimal digits in either case.
bool EqualsHex(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (Lower(text[i]) != word[i]) return false;
  }
  return true;
}

}  // namespace

// A byte XX is hidden as the mark and U+10FFXX, the mark as itself twice.
std::string_view HideLoneSurrogates(std::string_view json,
                                    std::string& storage) {
  storage.clear();
  std::string& out = storage;
  std::size_t plain = 0;  // start of what is copied as it is
  const auto replace = [&](std::size_t at, std::size_t size,
                           std::string_view with) {
    out.append(json.substr(plain, at - plain)).append(with);
    plain = at + size;
  };
  for (std::size_t at = json.find_first_of("\\\xf4"); at < json.size();
       at = json.find_first_of("\\\xf4", std::max(plain, at))) {
    const std::string_view rest = json.substr(at);
    if (rest.starts_with(kMark)) {
      replace(at, kMark.size(), kTwoMarks);
    } else if (IsSurrogate(rest, 'c') && rest[4] >= '8') {
      const std::string byte(rest.substr(4, 2));
      replace(at, 6, std::string(kMark) + "\\udbff\\udf" + byte);
    } else if (IsHighSurrogate(rest)) {
      // It takes its low one along.
      const bool mark = IsSurrogate(rest, 'b') && EqualsHex(rest, "\\udbff") &&
                        EqualsHex(rest.substr(6), "\\udf7f");
      if (mark) {
        replace(at, 12, kTwoMarks);
      } else {
        at += 12;
      }
    } else {
      at += rest[0] == '\\' ? std::size_t{2} : std::size_t{1};
    }
  }
  if (plain == 0) return json;
  return out.append(json.substr(std::min(plain, json.size())));
}

std::string RestoreBytes(std::string text) {
  std::size_t at = text.find(kMark);
  if (at == std::string::npos) return text;
  std::string out;
  std::size_t plain = 0;
  for (; at != std::string::npos; at = text.find(kMark, plain)) {
    out.append(text, plain, at - plain);
    const std::string_view rest =
        std::string_view(text).substr(at + kMark.size());
    if (rest.starts_with(kMark)) {
      out.append(kMark);
    } else if (rest.size() >= 4 && rest.starts_with("\xf4\x8f")) {
      // U+10FF80-U+10FFFF: F4 8F BE/BF and a byte of 80-BF.
      const auto third = static_cast<unsigned char>(rest[2]);
      const auto fourth = static_cast<unsigned char>(rest[3]);
      out += static_cast<char>((third == 0xbe ? 0x80 : 0xc0) | (fourth & 0x3f));
    }
    plain = std::min(at + kMark.size() + 4, text.size());
  }
  return out.append(text, plain);
}

}  // namespace onnx_tag::test
