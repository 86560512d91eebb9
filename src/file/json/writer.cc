// Tested by tests/file/json/writer_test.cc.
#include "file/json/writer.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"

namespace onnx_tag {
namespace {

// Whether the character at the front is U+EF80 to U+EFFF. Its bytes are written
// one by one, so that what is read back is never ambiguous.
bool StandsForByte(std::string_view text) {
  return text.starts_with("\xEE\xBE") || text.starts_with("\xEE\xBF");
}

// The code of a character that JSON may hold as it is, but YAML, whose readers
// take JSON, may not: a control of C1, U+FFFE, U+FFFF. 0 for all others.
unsigned ForbiddenInYaml(std::string_view character) {
  if (character == "\xef\xbf\xbe") return 0xfffe;
  if (character == "\xef\xbf\xbf") return 0xffff;
  const unsigned last =
      character.empty() ? 0 : static_cast<unsigned char>(character.back());
  return character.size() == 2 && character[0] == '\xc2' && last < 0xa0 ? last
                                                                        : 0;
}

void AppendString(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // start of what needs no escape
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
      ++at;
      continue;
    }
    const std::size_t length = byte < 0x80 ? 1 : Utf8Length(text.substr(at));
    if (const unsigned code = ForbiddenInYaml(text.substr(at, length))) {
      out.append(text.substr(plain, at - plain));
      out += fmt::format("\\u{:04x}", code);
      plain = at += length;
      continue;
    }
    if (length > 1 && !StandsForByte(text.substr(at))) {
      at += length;
      continue;
    }
    out.append(text.substr(plain, at - plain));
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x80) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += fmt::format("\\uef{:02x}", byte);
    }
    plain = ++at;
  }
  out.append(text.substr(plain));
  out += '"';
}

}  // namespace

void JsonWriter::StartLine() {
  if (needs_comma_) text_ += ',';
  text_ += '\n';
  text_.append(indent_, ' ');
  break_ = false;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  needs_comma_ = false;
  if (break_) StartLine();
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  String(key);
  text_ += colon_;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  Separate();
  AppendString(text_, text);
  return *this;
}

JsonWriter& JsonWriter::Share(double share) {
  return Raw(fmt::format("{:.6g}", share));
}

std::string JsonWriter::Take() { return std::exchange(text_, {}); }

}  // namespace onnx_tag
