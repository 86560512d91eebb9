#include "graph/neighbours.h"

namespace onnx_tag {

NodeId OnlyConsumer(const Model& model, ValueId value) {
  if (value == kNo<ValueId> || model[value].is_output) return kNo<NodeId>;
  NodeId only = kNo<NodeId>;
  for (const NodeId consumer : model.Consumers(value)) {
    if (only != kNo<NodeId> && only != consumer) return kNo<NodeId>;
    only = consumer;
  }
  return only;
}

NodeId OnlyConsumer(const Model& model, NodeId node) {
  NodeId only = kNo<NodeId>;
  for (const ValueId output : model.Outputs(node)) {
    if (output == kNo<ValueId>) continue;
    if (model[output].is_output) return kNo<NodeId>;
    if (model.Consumers(output).empty()) continue;
    const NodeId consumer = OnlyConsumer(model, output);
    if (consumer == kNo<NodeId>) return kNo<NodeId>;
    if (only != kNo<NodeId> && only != consumer) return kNo<NodeId>;
    only = consumer;
  }
  return only;
}

}  // namespace onnx_tag
