// The tools that `select --for` knows: what each takes, and how it is told.
#ifndef ONNX_TAG_COMMANDS_SELECT_SELECT_TOOLS_H_
#define ONNX_TAG_COMMANDS_SELECT_SELECT_TOOLS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/options.h"
#include "commands/read/selection.h"

namespace onnx_tag {

// What a tool gets, or why it cannot have it.
struct ToolInput {
  std::string text;
  // Nodes that the tool cannot address: a line each.
  std::vector<std::string> obstacles;
  std::vector<std::string> notes;
};

struct Tool {
  SelectTool tool;
  // Nodes are told by their names, so these must be there, and once.
  bool by_name;
  ToolInput (*write)(const Selection& selection, const SelectOptions& options);
};

const Tool& ToolFor(SelectTool tool);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_SELECT_SELECT_TOOLS_H_
