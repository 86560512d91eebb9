// The sizes of an attention: for the shapes of its results and its cost.
#ifndef ONNX_TAG_SIZES_RULES_ATTENTION_H_
#define ONNX_TAG_SIZES_RULES_ATTENTION_H_

#include "sizes/rules/node_view.h"

namespace onnx_tag::sizes {

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

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_RULES_ATTENTION_H_
