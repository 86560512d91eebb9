// The neighbours of a node.
#pragma once

#include "onnx_tag/model.h"

namespace onnx_tag {

// The node that makes `value`, or kNo.
inline NodeId ProducerOf(const Model& model, ValueId value) {
  return value == kNo<ValueId> ? kNo<NodeId> : model.Producer(value);
}

// The only node that reads `value`, if `value` is not an output of a graph; or
// kNo. A node that reads it twice counts once.
inline NodeId OnlyConsumer(const Model& model, ValueId value) {
  if (value == kNo<ValueId> || model[value].is_output) return kNo<NodeId>;
  // Consumers are in file order. If the first and the last are the same node,
  // all are.
  const auto consumers = model.Consumers(value);
  return consumers.empty() || consumers.front() != consumers.back()
             ? kNo<NodeId>
             : consumers.front();
}

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

// Which output of its producer each value is: the first if it is several, 0
// if nobody makes it.
inline IdVector<ValueId, std::uint32_t> OutputPlaces(const Model& model) {
  IdVector<ValueId, std::uint32_t> places(model.value_count(), 0);
  for (const NodeId node : model.Nodes()) {
    const auto outputs = model.Outputs(node);
    for (std::size_t i = outputs.size(); i-- > 0;) {
      if (outputs[i] == kNo<ValueId> || model.Producer(outputs[i]) != node) {
        continue;
      }
      places[outputs[i]] = static_cast<std::uint32_t>(i);
    }
  }
  return places;
}

// The only node that reads the outputs of `node`, or kNo.
inline NodeId OnlyConsumer(const Model& model, NodeId node) {
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
