// A node named on the command line.
#ifndef ONNX_TAG_COMMANDS_READ_NODE_SELECTOR_H_
#define ONNX_TAG_COMMANDS_READ_NODE_SELECTOR_H_

#include <string>
#include <string_view>

#include "onnx_tag/model.h"

namespace onnx_tag {

// `#17`, `12:then_branch#3`, `name=...`, `output=...`, or a bare word: a name
// or an output. Throws Error(kUsage) if none or more than one is meant.
NodeId SelectNode(const Model& model, std::string_view selector);

// "#17" or "12:then_branch#3": what SelectNode() takes.
std::string NodeAddress(const Model& model, NodeId node);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_NODE_SELECTOR_H_
