// A node with its tag, as programs read it: a JSON object or a line of TSV.
#ifndef ONNX_TAG_COMMANDS_READ_NODE_ROWS_H_
#define ONNX_TAG_COMMANDS_READ_NODE_ROWS_H_

#include <string>

#include "commands/read/tag_source.h"
#include "json/writer.h"
#include "tagging/module_format.h"

namespace onnx_tag {

// Module, class, tag, role and how sure they are; nulls for an untagged node.
void AddTagJson(JsonWriter& json, const Tagging& tagging,
                const ModuleFormat& format, const Tag& tag);

class NodeRows {
 public:
  // `model` must outlive it.
  explicit NodeRows(const TaggedModel& model)
      : model_(model), format_(model.tagging()) {}

  // As a node of a sidecar, with the role path and without the values.
  void AddJson(JsonWriter& json, NodeId node) const;

  // "graph\tindex\tname\t...", with a line break.
  static std::string TsvHeader();
  // Tabs, line breaks and other control characters as \xNN.
  std::string TsvLine(NodeId node) const;

 private:
  const TaggedModel& model_;
  ModuleFormat format_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_NODE_ROWS_H_
