#include "tagging/json_text.h"

#include <fmt/core.h>

#include "base/text.h"

namespace onnx_tag {

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
    if (length > 1) {
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
      out += fmt::format("\\udc{:02x}", byte);
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

}  // namespace onnx_tag
