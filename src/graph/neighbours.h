// What stands around a node.
#ifndef ONNX_TAG_GRAPH_NEIGHBOURS_H_
#define ONNX_TAG_GRAPH_NEIGHBOURS_H_

#include <string_view>

#include "onnx_tag/model.h"

namespace onnx_tag {

// The node that makes `value`, or kNo.
inline NodeId ProducerOf(const Model& model, ValueId value) {
  return value == kNo<ValueId> ? kNo<NodeId> : model.Producer(value);
}

// Whether it is a parameter of a torch.nn.RNN, GRU or LSTM, whose names say the
// layer: `weight_hh_l0`.
bool IsOfRecurrent(std::string_view parameter);

// The only node that reads the only output of `node`, or kNo.
NodeId OnlyConsumer(const Model& model, NodeId node);

}  // namespace onnx_tag

#endif  // ONNX_TAG_GRAPH_NEIGHBOURS_H_
