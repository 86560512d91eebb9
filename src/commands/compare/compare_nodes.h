// What differs between two nodes, and between the outsides of two models.
#ifndef ONNX_TAG_COMMANDS_COMPARE_COMPARE_NODES_H_
#define ONNX_TAG_COMMANDS_COMPARE_COMPARE_NODES_H_

#include <string>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

// What differs between two nodes with the same operator: "strides [1, 1] ->
// [2, 2]", "weight [64, 64] -> [64, 128]", "output float32 -> float16", "input
// 1 [1, 8, 4, 8] -> [1, 8, 2, 16]". The values of weights are not compared.
std::vector<std::string> CompareNodes(const Model& a, NodeId node_a,
                                      const Model& b, NodeId node_b);

// "ai.onnx 17 -> 18"
std::vector<std::string> CompareOpsets(const Model& a, const Model& b);

// Inputs and outputs of the graph: "input x float32 [1, 3] -> float32 [1, 4]",
// "output y only in B".
std::vector<std::string> CompareInterfaces(const Model& a, const Model& b);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_COMPARE_COMPARE_NODES_H_
