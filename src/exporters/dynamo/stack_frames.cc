#include "exporters/dynamo/metadata.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

std::string_view NextLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  ConsumeSuffix(line, "\r");
  while (line.starts_with(' ') || line.starts_with('\t')) {
    line.remove_prefix(1);
  }
  return line;
}

}  // namespace

std::vector<Frame> StackTraceFrames(std::string_view text) {
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = ", in ";
  std::vector<Frame> frames;
  while (!text.empty()) {
    std::string_view line = NextLine(text);
    if (!ConsumePrefix(line, "File \"")) continue;
    const std::size_t at = line.find(kLine);
    if (at == std::string_view::npos) continue;
    Frame frame;
    frame.file = line.substr(0, at);
    line.remove_prefix(at + kLine.size());
    const std::size_t in = line.find(kIn);
    frame.line = SmallNumber(line.substr(0, in), 0);
    if (in != std::string_view::npos) {
      frame.function = line.substr(in + kIn.size());
    }
    frames.push_back(frame);
  }
  return frames;
}

std::vector<Frame> DocStringFrames(std::string_view text) {
  std::vector<Frame> frames;
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    const std::size_t close = line.find("): ");
    if (close == std::string_view::npos) continue;
    const std::size_t open = line.rfind('(', close);
    if (open == std::string_view::npos) continue;
    const std::string_view digits = line.substr(open + 1, close - open - 1);
    if (!IsNumeric(digits)) continue;
    frames.push_back(
        {line.substr(0, open), SmallNumber(digits, 0), line.substr(close + 3)});
  }
  return frames;
}

}  // namespace onnx_tag::hierarchy
