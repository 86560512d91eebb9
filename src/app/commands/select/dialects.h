// Selections in the words of other tools: what each tool wants to know of a
// node, under which key, and what is around it: src/data/select_tools.txt.
//
// These tools ignore names that they do not know. So a selection has only names
// that the tool can use, and everything else is an obstacle.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/read/nodes.h"

namespace onnx_tag {

// What a tool gets, or why it cannot have it.
struct ToolInput {
  std::string text;
  // Nodes that the tool cannot address: a line each.
  std::vector<std::string> obstacles = {};
  std::vector<std::string> notes = {};
};

// What stands for a word of a template, made where it is used.
using Replacements =
    std::map<std::string_view, std::function<std::string()>, std::greater<>>;

// The tool's template for the format that the options ask for.
std::string FillTemplate(const SelectOptions& options,
                         const Replacements& words);

// For the tools that get names of nodes or of their results.
ToolInput WriteDialect(const Selection& selection,
                       const SelectOptions& options);

}  // namespace onnx_tag
