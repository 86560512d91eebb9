// Tested by tests/app/render/markup_test.cc.
#include "app/render/markup.h"

#include <fmt/core.h>

#include "base/text.h"

namespace onnx_tag {

std::string XmlText(std::string_view text, std::size_t longest) {
  std::string xml;
  const std::string printable = Printable(text, longest);
  for (std::size_t at = 0; at < printable.size(); ++at) {
    const std::string_view rest = std::string_view(printable).substr(at);
    if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
      xml += "\xef\xbf\xbd";
      at += 2;
      continue;
    }
    switch (rest[0]) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      case '\'':
        xml += "&apos;";
        break;
      default:
        xml += rest[0];
    }
  }
  return xml;
}

std::string UriText(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != uri.npos;
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

}  // namespace onnx_tag
