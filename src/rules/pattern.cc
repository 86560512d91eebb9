#include "rules/pattern.h"

#include <algorithm>

namespace onnx_tag {

Pattern::Pattern(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '*') continue;
    if (at + 1 < text.size() && text[at + 1] == '*') ++at;
    ++captures_;
  }
}

std::string FillIn(std::string_view text,
                   const std::vector<std::string_view>& captures) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      filled += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '$') {
      filled += '$';
      continue;
    }
    const auto number = static_cast<std::size_t>(next - '1');
    if (number < captures.size()) filled += captures[number];
  }
  return filled;
}

int HighestCapture(std::string_view text) {
  int highest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') continue;
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next == '$') continue;
    if (next < '1' || next > '9') return -1;
    highest = std::max(highest, next - '0');
  }
  return highest;
}

}  // namespace onnx_tag
