// The nodes of a graph as a program would run them that asks for its outputs.
#ifndef ONNX_TAG_GRAPH_DEPTH_FIRST_H_
#define ONNX_TAG_GRAPH_DEPTH_FIRST_H_

#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

// Depth first from the outputs, the one with the longest way first, inputs in
// their order, each node behind what it reads. Optimizers and quantizers sort
// nodes anew, so that those of one module do not stand together any more; in
// this order they do again.
std::vector<NodeId> DepthFirstOrder(const Model& model, GraphId graph);

}  // namespace onnx_tag

#endif  // ONNX_TAG_GRAPH_DEPTH_FIRST_H_
