// What is known of one node, and why.
#pragma once

#include <string>

#include "app/render/result.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// "This MatMul is the query projection of layer 0's self-attention:
// encoder.layer.0.attention.self.query, a Linear in BertSelfAttention; certain"
// Names of the model are printable.
std::string Sentence(const Model& model, const Tagging& tagging, NodeId node);

// The sentence, then every claim with its reason.
Result ExplainNode(const Model& model, const Tagging& tagging, NodeId node,
                   const Explanation& explanation);

}  // namespace onnx_tag
