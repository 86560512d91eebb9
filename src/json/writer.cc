// Tested by tests/json/writer_test.cc.
#include "json/writer.h"

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

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // start of what needs no escape
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
      ++at;
      continue;
    }
    const std::size_t length = byte < 0x80 ? 1 : Utf8Length(text.substr(at));
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

void AppendJsonStringOrNull(std::string& out, std::string_view text) {
  if (text.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, text);
  }
}

void JsonWriter::Separate() {
  if (needs_comma_) text_ += ", ";
  needs_comma_ = true;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  String(key);
  text_ += ": ";
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  Separate();
  AppendJsonString(text_, text);
  return *this;
}

JsonWriter& JsonWriter::StringOrNull(std::string_view text) {
  return text.empty() ? Null() : String(text);
}

JsonWriter& JsonWriter::Number(std::uint64_t number) {
  Separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::Integer(std::int64_t number) {
  Separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::Share(double share) {
  Separate();
  text_ += fmt::format("{:.6g}", share);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  Separate();
  text_ += "null";
  return *this;
}

std::string JsonWriter::Take() { return std::exchange(text_, {}); }

}  // namespace onnx_tag
