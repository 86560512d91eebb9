// Sizes that the shapes of the results and the cost of a node both need.
#ifndef ONNX_TAG_USES_SIZES_RULES_OPERAND_SIZES_H_
#define ONNX_TAG_USES_SIZES_RULES_OPERAND_SIZES_H_

#include <optional>

#include "uses/sizes/rules/node_view.h"

namespace onnx_tag::sizes {

// The sizes of an attention.
struct AttentionSizes {
  Dim batch;
  Dim heads;      // of the query
  Dim key_heads;  // of keys and values
  Dim length;     // of the query
  Dim total;      // keys, those of earlier runs included
  Dim key_size;   // of a head
  Dim value_size;
  bool packed;  // heads and sizes are one axis
};

// Nothing where the inputs are unknown.
std::optional<AttentionSizes> AttentionSizesOf(const NodeView& node);

// The sizes of an Einsum's letters.
class EinsumSizes {
 public:
  explicit EinsumSizes(const NodeView& node);

  // False where an input is unknown or the equation is none.
  bool known() const { return known_; }
  const Shape& result() const { return result_; }
  // The product of the sizes of all letters.
  Dim volume() const { return volume_; }

 private:
  bool known_ = false;
  Shape result_;
  Dim volume_;
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_USES_SIZES_RULES_OPERAND_SIZES_H_
