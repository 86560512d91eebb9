// How many floating-point operations a node does, from the shapes it reads and
// gives. One multiply-add is two. docs/sizes.md has the rule of each operator.
#ifndef ONNX_TAG_SIZES_NODE_COST_H_
#define ONNX_TAG_SIZES_NODE_COST_H_

#include "sizes/rules/node_view.h"

namespace onnx_tag::sizes {

// For one run of the node; unknown where a shape or a rule is missing.
Dim CountFlops(const NodeView& node);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_NODE_COST_H_
