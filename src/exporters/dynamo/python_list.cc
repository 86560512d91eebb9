#include "exporters/dynamo/python_list.h"

#include <cstdint>

#include "base/utf8.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class ListReader {
 public:
  explicit ListReader(std::string_view text) : rest_(text) {}

  std::optional<std::vector<std::string>> Read() {
    SkipSpace();
    if (!ConsumePrefix(rest_, "[")) return std::nullopt;
    std::vector<std::string> items;
    for (SkipSpace(); !ConsumePrefix(rest_, "]"); SkipSpace()) {
      std::string item;
      if (!ReadItem(item)) return std::nullopt;
      items.push_back(std::move(item));
      SkipSpace();
      if (ConsumePrefix(rest_, ",")) continue;
      if (!rest_.starts_with(']')) return std::nullopt;
    }
    SkipSpace();
    if (!rest_.empty()) return std::nullopt;
    return items;
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
  }

  bool ReadItem(std::string& item) {
    if (rest_.empty()) return false;
    return rest_[0] == '\'' || rest_[0] == '"' ? ReadQuoted(item)
                                               : ReadBare(item);
  }

  bool ReadQuoted(std::string& item) {
    const char quote = rest_[0];
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == quote) return true;
      if (c != '\\') {
        item += c;
      } else if (!ReadEscape(item)) {
        return false;
      }
    }
    return false;
  }

  bool ReadEscape(std::string& item) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    switch (c) {
      case 'n':
        item += '\n';
        return true;
      case 't':
        item += '\t';
        return true;
      case 'r':
        item += '\r';
        return true;
      case 'b':
        item += '\b';
        return true;
      case 'f':
        item += '\f';
        return true;
      case '\\':
      case '\'':
      case '"':
      case '/':
        item += c;
        return true;
      case 'x':
        return ReadCode(2, item);
      case 'u':
        return ReadCode(4, item);
      case 'U':
        return ReadCode(8, item);
      default:  // Python keeps what it does not know.
        item += '\\';
        item += c;
        return true;
    }
  }

  bool ReadHex(std::size_t digits, std::uint32_t& code) {
    if (rest_.size() < digits) return false;
    code = 0;
    for (const char c : rest_.substr(0, digits)) {
      const int value = IsDigit(c)             ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) return false;
      code = code * 16 + static_cast<std::uint32_t>(value);
    }
    rest_.remove_prefix(digits);
    return true;
  }

  bool ReadCode(std::size_t digits, std::string& item) {
    std::uint32_t code = 0;
    if (!ReadHex(digits, code)) return false;
    // JSON writes what lies beyond U+FFFF as two surrogates.
    if (code >= 0xd800 && code < 0xdc00 && rest_.starts_with("\\u")) {
      const std::string_view before = rest_;
      rest_.remove_prefix(2);
      std::uint32_t low = 0;
      if (ReadHex(4, low) && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        rest_ = before;
      }
    }
    AppendUtf8(code, item);
    return true;
  }

  bool ReadBare(std::string& item) {
    std::size_t depth = 0;
    std::size_t size = 0;
    for (; size < rest_.size(); ++size) {
      const char c = rest_[size];
      if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ']')) {
        break;
      } else if (c == ')' || c == ']' || c == '}') {
        if (depth == 0) return false;
        --depth;
      } else if (depth > 0 && (c == '\'' || c == '"')) {
        // A bracket in a string inside brackets is text.
        for (++size; size < rest_.size() && rest_[size] != c; ++size) {
          if (rest_[size] == '\\') ++size;
        }
      }
    }
    if (size >= rest_.size()) return false;
    std::string_view bare = rest_.substr(0, size);
    rest_.remove_prefix(size);
    while (!bare.empty() && IsSpace(bare.back())) bare.remove_suffix(1);
    item = bare;
    return !bare.empty();
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<std::string>> ParsePythonList(std::string_view text) {
  return ListReader(text).Read();
}

}  // namespace onnx_tag::hierarchy
