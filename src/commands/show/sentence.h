// What a person wants to hear about a node, in one sentence.
#ifndef ONNX_TAG_COMMANDS_SHOW_SENTENCE_H_
#define ONNX_TAG_COMMANDS_SHOW_SENTENCE_H_

#include <string>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// "This MatMul is the query projection of layer 0's self-attention:
// encoder.layer.0.attention.self.query, a Linear in BertSelfAttention; certain"
// Names of the model are printable.
std::string Sentence(const Model& model, const Tagging& tagging, NodeId node);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_SHOW_SENTENCE_H_
