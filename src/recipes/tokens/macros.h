// Recognises operations that exporters and optimizers write in many ways:
// norms, activations and linear layers.
#ifndef ONNX_TAG_RECIPES_TOKENS_MACROS_H_
#define ONNX_TAG_RECIPES_TOKENS_MACROS_H_

#include <string_view>
#include <vector>

#include "recipes/tokens/data_flow.h"

namespace onnx_tag::recipes {

struct Macro {
  std::string_view label;
  // In an order that depends on the pattern and not on the file.
  std::vector<NodeId> nodes;
  std::uint32_t main = 0;  // in nodes: the one that represents all
};

// No node is in two macros.
std::vector<Macro> FindMacros(const DataFlow& flow);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_MACROS_H_
