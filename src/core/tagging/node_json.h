// Writes a node and its tag as JSON, for a sidecar or a stream of records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tagging/module_format.h"
#include "file/json/reader.h"
#include "file/json/writer.h"
#include "onnx_tag/source_lines.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

class NodeJson {
 public:
  // All must outlive it.
  NodeJson(const Model& model, const Tagging& tagging,
           const ModuleFormat& format);

  // Writes `"graph": "", "index": 17, ... "origins": []` into an open object.
  // Fastest if called in file order.
  void AddMembers(NodeId node, JsonWriter& json);

 private:
  void AddTag(NodeId node, const Tag& tag, JsonWriter& json);
  void AddLines(NodeId node, JsonWriter& json) const;

  const Model& model_;
  const Tagging& tagging_;
  const ModuleFormat& format_;
  std::vector<std::string> roles_;  // `{"type": ...}`, by role
  // Cached from the previous node, because neighbours often share both.
  GraphId graph_ = kNo<GraphId>;
  std::string graph_text_;  // `"graph": "..."`
  ModuleId module_ = kNo<ModuleId>;
  std::string
      module_text_;  // `"module": ..., "class": ..., "hierarchy_tag"...`
};

// The other modules of a fused node: a list of paths.
void AddOrigins(const Tagging& tagging, NodeId node, JsonWriter& json);

// A line of code as JSON: {"file", "line", "function", "text"}, in sidecars,
// in the metadata of a node, and in recordings.

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
