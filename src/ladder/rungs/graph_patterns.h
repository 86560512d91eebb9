// Small patterns of nodes that belong together.
#ifndef ONNX_TAG_LADDER_RUNGS_GRAPH_PATTERNS_H_
#define ONNX_TAG_LADDER_RUNGS_GRAPH_PATTERNS_H_

#include <string_view>
#include <vector>

#include "evidence/evidence.h"
#include "graph/neighbours.h"

namespace onnx_tag {

// The MatMul with a constant weight to whose result `add` adds a constant; or
// kNo. A Cast, Reshape or DequantizeLinear between them is skipped.
NodeId MatMulBefore(const Evidence& evidence, NodeId add);

// Whether it is a product with a constant: a layer, with or without a name.
bool HasHiddenWeight(const Evidence& evidence, NodeId node);

// The nodes of a decomposed LayerNorm or RMSNorm that ends with `last`, the
// multiplication with its weight or the addition of its bias. Empty if there is
// none.
std::vector<NodeId> NormBefore(const Evidence& evidence, NodeId last);

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_RUNGS_GRAPH_PATTERNS_H_
