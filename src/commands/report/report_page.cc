#include "commands/report/report_page.h"

#include "base/embed.h"

ONNX_TAG_EMBED(onnx_tag_report_page, ONNX_TAG_REPORT_PAGE);

namespace onnx_tag {
namespace {

constexpr std::string_view kPlace = "@DATA@";

// JSON has these characters only in strings, where an escape means the same.
void AppendEscaped(std::string& out, std::string_view json) {
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else if (json.substr(at, 2) == "\xe2\x80" && at + 2 < json.size() &&
               (json[at + 2] == '\xa8' || json[at + 2] == '\xa9')) {
      // U+2028 and U+2029 end lines in scripts.
      out += json[at + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += c;
    }
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
