// How many floating-point operations a node does, from the shapes it reads and
// gives. One multiply-add is two. docs/sizes.md has the rule of each operator.
#ifndef ONNX_TAG_SIZES_FLOPS_H_
#define ONNX_TAG_SIZES_FLOPS_H_

#include <cstdint>

#include "onnx_tag/model.h"
#include "sizes/shapes.h"

namespace onnx_tag::sizes {

// A shape or a rule is missing.
inline constexpr std::int64_t kUnknownFlops = -1;

// By node, for one run of the model: nodes of a function count each call.
IdVector<NodeId, std::int64_t> CountFlops(const Model& model,
                                          const Shapes& shapes);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_FLOPS_H_
