// Operators that stand for several: what an optimizer fused, as the tokens
// that it replaced.
#ifndef ONNX_TAG_RECIPES_TOKENS_FUSED_H_
#define ONNX_TAG_RECIPES_TOKENS_FUSED_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag::recipes {

struct Fused {
  // Labels in the order of execution, as tokens.h has them; empty: the
  // operator is no fused one.
  std::vector<std::string> labels;
  std::size_t main = 0;  // the one that the node is known by
  // Whose parameters it reads.
  enum class Owner { kMain, kProductBefore, kNobody } owner = Owner::kMain;
};

// `operands`: how many inputs it has; `has_weight`: its second is a tensor of
// the file.
Fused ReadFused(std::string_view op, Bytes node, std::size_t operands,
                bool has_weight);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_FUSED_H_
