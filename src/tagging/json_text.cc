#include "tagging/json_text.h"

#include <fmt/core.h>

#include "base/text.h"

namespace onnx_tag {
namespace {

// U+10FF80-U+10FFFF, the end of the last private plane: in UTF-8 F4 8F BE/BF
// and a byte of 80-BF; as an escape \udbff\udf80-\udbff\udfff.
constexpr std::string_view kPrivateLead = "\xf4\x8f";

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
         (c >= 'A' && c <= 'F');
}

char Lower(char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; }

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

std::string HideLoneSurrogates(std::string_view json) {
  std::string out;
  std::size_t plain = 0;
  for (std::size_t at = json.find('\\'); at != std::string_view::npos;
       at = json.find('\\', at)) {
    const std::string_view escape = json.substr(at, 6);
    const bool unicode = escape.size() == 6 && escape[1] == 'u' &&
                         Lower(escape[2]) == 'd' && IsHex(escape[4]) &&
                         IsHex(escape[5]);
    if (unicode && (escape[3] == '8' || escape[3] == '9' ||
                    Lower(escape[3]) == 'a' || Lower(escape[3]) == 'b')) {
      at += 12;  // a high surrogate takes its low one along
    } else if (unicode && Lower(escape[3]) == 'c' && escape[4] >= '8') {
      out.append(json.substr(plain, at - plain));
      out += "\\udbff\\udf";
      out += escape[4];
      out += escape[5];
      at += 6;
      plain = at;
    } else {
      at += 2;
    }
    if (at > json.size()) break;
  }
  if (plain <= json.size()) out.append(json.substr(plain));
  return out;
}

std::string RestoreBytes(std::string text) {
  if (text.find(kPrivateLead) == std::string::npos) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto third =
        static_cast<unsigned char>(rest.size() >= 4 ? rest[2] : '\0');
    if (rest.starts_with(kPrivateLead) && (third == 0xbe || third == 0xbf)) {
      const auto fourth = static_cast<unsigned char>(rest[3]);
      out += static_cast<char>((third == 0xbe ? 0x80 : 0xc0) |
                               (fourth & 0x3f));
      at += 4;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace onnx_tag
