// --json-nodes: one line of NDJSON for each node, as engines that work on
// tables read them.
#ifndef ONNX_TAG_COMMANDS_WRITE_NODE_LINES_H_
#define ONNX_TAG_COMMANDS_WRITE_NODE_LINES_H_

#include <string>

#include "commands/write/tag_file.h"

namespace onnx_tag {

// Hands over `{"record": "node", "path": PATH, ...}`, with the members of a
// sidecar's node, some hundreds of lines at a time.
void WriteNodeLines(const std::string& path, const Model& model,
                    const Tagging& tagging, const NodeLines& lines);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_NODE_LINES_H_
