// A line of code as JSON: {"file", "line", "function", "text"}, in sidecars,
// in the metadata of a node, and in recordings.
#ifndef ONNX_TAG_TAGGING_LINE_JSON_H_
#define ONNX_TAG_TAGGING_LINE_JSON_H_

#include <cstdint>
#include <optional>
#include <string>

#include "json/reader.h"
#include "json/writer.h"
#include "tagging/source_lines.h"

namespace onnx_tag {

void AddSourceLine(const SourceLine& line, JsonWriter& json);

// A line with texts of its own.
struct ReadSourceLine {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
  std::string text;

  SourceLine view() const { return {file, line, function, text}; }
};

// Takes the next value. Nothing for null, and for an object without a file.
std::optional<ReadSourceLine> TakeSourceLine(json::Reader& json);

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_LINE_JSON_H_
