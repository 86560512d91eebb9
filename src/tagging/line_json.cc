// Tested by tests/tagging/source_lines_test.cc.
#include "tagging/line_json.h"

namespace onnx_tag {

void AddSourceLine(const SourceLine& line, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(line.file);
  json.Key("line").Number(line.line);
  json.Key("function").StringOrNull(line.function);
  json.Key("text").StringOrNull(line.text);
  json.EndObject();
}

std::optional<ReadSourceLine> TakeSourceLine(json::Reader& json) {
  if (json.Peek() != json::Kind::kObject) {
    json.Skip();
    return std::nullopt;
  }
  ReadSourceLine line;
  std::string_view key;
  json.BeginObject();
  while (json.NextMember(key)) {
    if (key == "file") {
      line.file = json.StringOrNull();
    } else if (key == "line") {
      line.line = json.Count();
    } else if (key == "function") {
      line.function = json.StringOrNull();
    } else if (key == "text") {
      line.text = json.StringOrNull();
    } else {
      json.Skip();
    }
  }
  if (line.file.empty()) return std::nullopt;
  return line;
}

}  // namespace onnx_tag
