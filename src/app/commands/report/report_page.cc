#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "app/commands/report/report.h"
#include "base/embed.h"
#include "base/text.h"

ONNX_TAG_EMBED(onnx_tag_report_page, ONNX_TAG_REPORT_PAGE);

namespace onnx_tag {
namespace {

constexpr std::string_view kPlace = "@DATA@";

// Characters that end lines in scripts, change the direction of the text around
// them or cannot be seen: who reads the page's source sees them, too. The list
// is that of visible() in web/src/model.ts.
bool MustBeSeen(std::uint32_t c) {
  return (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

// The character of two or three bytes at the start of `text`.
std::uint32_t Decode(std::string_view text, std::size_t length) {
  std::uint32_t c = static_cast<unsigned char>(text[0]);
  c &= length == 2 ? 0x1f : 0x0f;
  for (std::size_t i = 1; i < length; ++i) {
    c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return c;
}

// JSON has these characters only in strings, where an escape means the same.
void AppendEscaped(std::string& out, std::string_view json) {
  while (!json.empty()) {
    const char c = json[0];
    std::size_t length = 1;
    if (c == '<' || c == '>' || c == '&' || c == 0x7f) {
      out += fmt::format("\\u{:04x}", c);
    } else if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
    } else {
      length = std::max<std::size_t>(Utf8Length(json), 1);
      const std::uint32_t code =
          length == 2 || length == 3 ? Decode(json, length) : 0;
      if (MustBeSeen(code)) {
        out += fmt::format("\\u{:04x}", code);
      } else {
        out += json.substr(0, length);
      }
    }
    json.remove_prefix(length);
  }
}

}  // namespace

std::string_view ReportHead() {
  constexpr std::string_view kMark =
      "<meta name=\"generator\" content=\"onnx-tag report\">";
  const std::string_view page = ONNX_TAG_EMBEDDED(onnx_tag_report_page);
  return page.substr(0, page.find(kMark) + kMark.size());
}

std::string MakeReportPage(std::string_view json) {
  const std::string_view page = ONNX_TAG_EMBEDDED(onnx_tag_report_page);
  const std::size_t place = page.find(kPlace);
  std::string text;
  text.reserve(page.size() + json.size() + json.size() / 16);
  text += page.substr(0, place);
  AppendEscaped(text, json);
  text += page.substr(place + kPlace.size());
  return text;
}

}  // namespace onnx_tag
