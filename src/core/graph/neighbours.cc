#include "core/graph/neighbours.h"

namespace onnx_tag {

NodeId OnlyConsumer(const Model& model, ValueId value) {
  if (value == kNo<ValueId> || model[value].is_output) return kNo<NodeId>;
  // Consumers are in file order. If the first and the last are the same node,
  // all are.
  const auto consumers = model.Consumers(value);
  return consumers.empty() || consumers.front() != consumers.back()
             ? kNo<NodeId>
             : consumers.front();
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
