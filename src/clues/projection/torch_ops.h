// The ONNX operators that a PyTorch operation becomes: src/data/torch_ops.txt.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/operators.h"
#include "onnx_tag/ids.h"

namespace onnx_tag {

// An operator of this weight is a part that shows the whole: the Sigmoid of a
// SiLU, the Erf of a GELU.
constexpr float kTelling = 3.0F;

// One place of a pattern: a set of operators, one of which must match.
enum class ElementId : std::uint32_t {};

struct PatternElement {
  float weight = 0;      // the score of a match
  bool repeats = false;  // may match any number of times
  bool heads = false;    // the main operator of the operation
};

struct TorchPattern {
  ElementId first = ElementId{0};  // elements have consecutive numbers
  std::uint32_t size = 0;          // 0: it becomes no operator
  bool folds = false;  // exporters fold it into the product before it
};

class TorchOps {
 public:
  // `text` is src/data/torch_ops.txt without its comments, and outlives this.
  explicit TorchOps(std::string_view text);

  // Null if the operation is not known.
  const TorchPattern* Find(std::string_view op) const;
  const IdVector<ElementId, PatternElement>& elements() const {
    return elements_;
  }
  // All operators here are plain ones: see PlainOperator().
  float WeightOf(Op op) const {
    const auto at = static_cast<std::size_t>(op);
    return at < weights_.size() ? weights_[at] : 1.0F;
  }
  bool Takes(ElementId element, Op op) const {
    const auto at = static_cast<std::size_t>(op);
    return at < takers_.size() && takers_[at].size() > Index(element) &&
           takers_[at][Index(element)];
  }
  // Whether the operator is one of the pattern, and whether the main one.
  bool Accepts(const TorchPattern& pattern, Op op) const;
  bool IsHead(const TorchPattern& pattern, Op op) const;

 private:
  void ReadWeights(std::string_view line);
  void ReadPattern(std::string_view names, std::string_view operators);

  std::unordered_map<std::string_view, TorchPattern> patterns_;
  std::vector<float> weights_;             // by operator
  std::vector<std::vector<bool>> takers_;  // by operator: the elements
  IdVector<ElementId, PatternElement> elements_;
};

// What an operator was before a tool fused or quantized it, in any domain.
Op PlainOperator(Op op);

// The built-in table.
const TorchOps& BuiltInTorchOps();

}  // namespace onnx_tag
