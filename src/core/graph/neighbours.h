// The neighbours of a node.
#ifndef ONNX_TAG_CORE_GRAPH_NEIGHBOURS_H_
#define ONNX_TAG_CORE_GRAPH_NEIGHBOURS_H_

#include "onnx_tag/model.h"

namespace onnx_tag {

// The node that makes `value`, or kNo.
inline NodeId ProducerOf(const Model& model, ValueId value) {
  return value == kNo<ValueId> ? kNo<NodeId> : model.Producer(value);
}

// The only node that reads `value`, if `value` is not an output of a graph; or
// kNo. A node that reads it twice counts once.
NodeId OnlyConsumer(const Model& model, ValueId value);

// A node's first input, or kNo.
inline ValueId FirstInput(const Model& model, NodeId node) {
  const auto inputs = model.Inputs(node);
  return inputs.empty() ? kNo<ValueId> : inputs[0];
}

// A node's first output, or kNo; kNo for kNo.
inline ValueId FirstOutput(const Model& model, NodeId node) {
  if (node == kNo<NodeId> || model.Outputs(node).empty()) return kNo<ValueId>;
  return model.Outputs(node)[0];
}

// The only node that reads the outputs of `node`, or kNo.
NodeId OnlyConsumer(const Model& model, NodeId node);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_GRAPH_NEIGHBOURS_H_
