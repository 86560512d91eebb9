// Small shapes in the graph that belong together.
#ifndef ONNX_TAG_MAPPING_GRAPH_PATTERNS_H_
#define ONNX_TAG_MAPPING_GRAPH_PATTERNS_H_

#include <string_view>
#include <vector>

#include "mapping/evidence.h"

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

// The MatMul with a constant weight whose result `add` adds a constant to, a
// Cast, Reshape or DequantizeLinear between them passed over; or kNo.
NodeId MatMulBefore(const Evidence& evidence, NodeId add);

// Whether it is a product with a constant: a layer, whether or not its weight
// kept a name.
bool HasHiddenWeight(const Evidence& evidence, NodeId node);

// The nodes of a decomposed LayerNorm or RMSNorm that `last`, the
// multiplication with its weight or the addition of its bias, completes; empty
// where there is none.
std::vector<NodeId> NormBefore(const Evidence& evidence, NodeId last);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_GRAPH_PATTERNS_H_
