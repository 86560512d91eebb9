// Fused operators of optimizers, as the tokens that they replaced.
#ifndef ONNX_TAG_RECIPES_TOKENS_FUSED_H_
#define ONNX_TAG_RECIPES_TOKENS_FUSED_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag::recipes {

struct Fused {
  // Labels in execution order, as in tokens.h; empty: not a fused operator.
  std::vector<std::string> labels;
  std::size_t main = 0;  // the main operation, which gives the module
  // The owner of the parameters that it reads.
  enum class Owner { kMain, kProductBefore, kNobody } owner = Owner::kMain;
};

// `operands`: how many inputs it has; `has_weight`: its second is a tensor of
// the file.
Fused ReadFused(std::string_view op, Bytes node, std::size_t operands,
                bool has_weight);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_FUSED_H_
