// Nodes whose parameter kept its name: the fixed points of an alignment.
#ifndef ONNX_TAG_RECIPES_TOKENS_ANCHORS_H_
#define ONNX_TAG_RECIPES_TOKENS_ANCHORS_H_

#include <string_view>
#include <vector>

#include "recipes/tokens/data_flow.h"

namespace onnx_tag::recipes {

// By node of the model: the path of the module whose parameter the node uses;
// "" if there is none. If there are several parameters, one without other
// consumers is preferred, then the one with the highest rank.
IdVector<NodeId, std::string_view> FindAnchors(const DataFlow& flow);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_ANCHORS_H_
