// The answer of `explain` as text.
#ifndef ONNX_TAG_COMMANDS_SHOW_EXPLANATION_TEXT_H_
#define ONNX_TAG_COMMANDS_SHOW_EXPLANATION_TEXT_H_

#include <string>

#include "onnx_tag/mapping.h"

namespace onnx_tag {

// A sentence about the node, then every claim with its reason.
std::string ExplanationText(const Model& model, const Tagging& tagging,
                            NodeId node, const Explanation& explanation);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_SHOW_EXPLANATION_TEXT_H_
