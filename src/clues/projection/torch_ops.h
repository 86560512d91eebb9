// The ONNX operators that a PyTorch operation becomes: data/torch_ops.txt.
#ifndef ONNX_TAG_CLUES_PROJECTION_TORCH_OPS_H_
#define ONNX_TAG_CLUES_PROJECTION_TORCH_OPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace onnx_tag {

// One place of a pattern: a set of operators, one of which must match.
enum class ElementId : std::uint32_t {};

struct PatternElement {
  std::vector<std::string_view> operators;
  float weight = 0;      // the score of a match
  bool repeats = false;  // may match any number of times
  bool heads = false;    // the main operator of the operation
};

struct TorchPattern {
  ElementId first = ElementId{0};  // elements have consecutive numbers
  std::uint32_t size = 0;          // 0: it becomes no operator
};

class TorchOps {
 public:
  // `text` is data/torch_ops.txt without its comments, and outlives this.
  explicit TorchOps(std::string_view text);

  // Null if the operation is not known.
  const TorchPattern* Find(std::string_view op) const;
  const IdVector<ElementId, PatternElement>& elements() const {
    return elements_;
  }
  float WeightOf(std::string_view onnx_operator) const;
  // Whether the operator is one of the pattern, and whether the main one.
  bool Accepts(const TorchPattern& pattern, std::string_view plain) const;
  bool IsHead(const TorchPattern& pattern, std::string_view plain) const;

 private:
  void ReadPattern(std::string_view names, std::string_view operators);
  bool AnyTakes(const TorchPattern& pattern, std::string_view plain,
                bool heads_only) const;

  std::unordered_map<std::string_view, TorchPattern> patterns_;
  std::unordered_map<std::string_view, float> weights_;
  IdVector<ElementId, PatternElement> elements_;
};

// What an operator was before a tool fused or quantized it.
std::string_view PlainOperator(std::string_view op);

// Whether the class, or the operator, is a recurrent layer.
inline bool IsRecurrent(std::string_view name) {
  return name == "LSTM" || name == "GRU" || name == "RNN";
}

// The built-in table.
const TorchOps& BuiltInTorchOps();

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLUES_PROJECTION_TORCH_OPS_H_
