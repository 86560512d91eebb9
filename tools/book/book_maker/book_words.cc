#include "book_maker/book_words.h"

#include <algorithm>
#include <charconv>

#include "core/hierarchy/name_parts.h"
#include "onnx_tag/error.h"

namespace onnx_tag::recipes {
namespace {

bool IsPlain(char c) {
  return hierarchy::IsWordChar(c) ||
         std::string_view(":~=+-").find(c) != std::string_view::npos;
}

}  // namespace

std::string Escaped(std::string_view text) {
  if (text.empty()) return "%";
  std::string escaped;
  for (const char c : text) {
    if (IsPlain(c)) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::string EscapedExtra(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ' ') {
      escaped += '_';
    } else if (c == '_') {
      escaped += "%5F";
    } else if (c == ',') {
      escaped += c;
    } else {
      escaped += Escaped({&c, 1});
    }
  }
  return escaped;
}

std::string Unescaped(std::string_view text) {
  if (text == "%") return "";
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned value = 0;
    const char* begin = text.data() + i + 1;
    if (i + 2 >= text.size() ||
        std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) {
      Fail(ErrorKind::kInput, "'{}' has a % without two digits", text);
    }
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

std::string UnescapedExtra(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '_', ' ');
  return Unescaped(spaced);
}

std::string_view UsualOp(std::string_view label) {
  return label.substr(0, label.find(':'));
}

}  // namespace onnx_tag::recipes
