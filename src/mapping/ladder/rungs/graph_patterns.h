// Small patterns of nodes that belong together.
#ifndef ONNX_TAG_MAPPING_LADDER_RUNGS_GRAPH_PATTERNS_H_
#define ONNX_TAG_MAPPING_LADDER_RUNGS_GRAPH_PATTERNS_H_

#include <array>
#include <string_view>
#include <vector>

#include "core/graph/neighbours.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {

// The MatMul with a constant weight to whose result `add` adds a constant; or
// kNo. A Cast, Reshape or DequantizeLinear between them is skipped.
NodeId MatMulBefore(const Evidence& evidence, NodeId add);

// By module: whether it holds the weights of several projections in one, as
// torch.nn.MultiheadAttention does. That one never calls its out_proj: it uses
// the weight.
IdVector<ModuleId, bool> ModulesThatPack(const Evidence& evidence);

// Whether torch.nn's own leaves have such a parameter: a module with no other
// has no arithmetic but its operator's.
bool IsPlainParameter(std::string_view name);

// Whether it pools. Between two layers it is as likely their caller's as the
// second one's.
bool IsPool(const Evidence& evidence, NodeId node);

// Whether it is a product with a constant: a layer, with or without a name.
bool HasHiddenWeight(const Evidence& evidence, NodeId node);

// What dynamic quantization makes of one product: the product in integers, the
// Mul of both scales, the Add of the bias, the Cast, and the Mul with the
// scales. kNo for what is not there.
using QuantizedParts = std::array<NodeId, 5>;
QuantizedParts PartsOfQuantized(const Evidence& evidence, NodeId product);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_LADDER_RUNGS_GRAPH_PATTERNS_H_
