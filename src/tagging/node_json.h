// Writes a node and its tag as JSON, for a sidecar or a stream of records.
#ifndef ONNX_TAG_TAGGING_NODE_JSON_H_
#define ONNX_TAG_TAGGING_NODE_JSON_H_

#include <span>
#include <string>
#include <vector>

#include "onnx_tag/tagging.h"
#include "tagging/module_format.h"

namespace onnx_tag {

class NodeJson {
 public:
  // All must outlive it.
  NodeJson(const Model& model, const Tagging& tagging,
           const ModuleFormat& format);

  // Appends `"graph": "", "index": 17, ... "origins": []`, without braces.
  // Fastest if called in file order.
  void AppendMembers(NodeId node, std::string& out);

 private:
  void AppendTag(NodeId node, const Tag& tag, std::string& out);
  void AppendValues(std::span<const ValueId> values, std::string& out) const;

  const Model& model_;
  const Tagging& tagging_;
  const ModuleFormat& format_;
  std::vector<std::string> roles_;  // `"semantic": {...}`, by role
  // Cached from the previous node, because neighbours often share both.
  GraphId graph_ = kNo<GraphId>;
  std::string graph_text_;  // `"graph": "..."`
  ModuleId module_ = kNo<ModuleId>;
  std::string
      module_text_;  // `"module": ..., "class": ..., "hierarchy_tag"...`
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_NODE_JSON_H_
