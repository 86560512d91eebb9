// The nodes a query fits, for `query` and `select`.
#ifndef ONNX_TAG_COMMANDS_READ_SELECTION_H_
#define ONNX_TAG_COMMANDS_READ_SELECTION_H_

#include <string>
#include <vector>

#include "commands/read/tag_source.h"
#include "io/terminal.h"

namespace onnx_tag {

struct Selection {
  TaggedModel model;
  std::vector<NodeId> nodes;  // in the order of the file
};

// Where nothing fits, says on stderr why, with the closest matches. A query
// that cannot be read is refused before the model is.
Selection SelectNodes(const std::string& model, const std::string& query,
                      const TagSourceOptions& source, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_SELECTION_H_
