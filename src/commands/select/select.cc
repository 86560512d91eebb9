#include <fmt/core.h>

#include <unordered_map>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/selection.h"
#include "commands/select/select_tools.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kListed = 20;

// Why `node` has no name of its own in the main graph; "" if it has.
class Addresses {
 public:
  explicit Addresses(const NodeList& nodes) : nodes_(nodes) {
    for (const NodeId node : nodes.All()) ++uses_[nodes.Name(node)];
  }
  std::string Obstacle(NodeId node) const {
    const std::string_view name = nodes_.Name(node);
    if (name.empty()) return "it has no name";
    const std::uint64_t uses = uses_.at(name);
    if (uses > 1) return fmt::format("{} share this name", Count(uses, "node"));
    if (!nodes_.Graph(node).empty()) return "it is not in the main graph";
    return "";
  }

 private:
  const NodeList& nodes_;
  std::unordered_map<std::string_view, std::uint64_t> uses_;
};

// Nodes that cannot be told by name, a line each; they leave the selection.
std::vector<std::string> DropNameless(Selection& selection) {
  const NodeList& nodes = selection.model.nodes();
  const Addresses addresses(nodes);
  std::vector<std::string> lines;
  std::vector<NodeId> kept;
  for (const NodeId node : selection.nodes) {
    const std::string why = addresses.Obstacle(node);
    if (why.empty()) {
      kept.push_back(node);
      continue;
    }
    lines.push_back(fmt::format("{}  {} {}: {}", Printable(nodes.Address(node)),
                                Printable(nodes.Op(node), 40),
                                Printable(nodes.Name(node), 100), why));
  }
  selection.nodes = std::move(kept);
  return lines;
}

void ListLines(std::string_view head, const std::vector<std::string>& lines,
               Terminal& terminal) {
  std::string text = fmt::format("onnx-tag: {}\n", head);
  for (std::size_t i = 0; i < lines.size() && i < kListed; ++i) {
    text += fmt::format("  {}\n", lines[i]);
  }
  if (lines.size() > kListed) {
    text += fmt::format("  and {} more\n", lines.size() - kListed);
  }
  terminal.Complain(text);
}

}  // namespace

ExitCode RunSelect(const SelectOptions& options, Terminal& terminal) {
  Selection selection =
      SelectNodes(options.model, options.query, options.source, terminal);
  if (selection.nodes.empty()) return ExitCode::kFindings;
  const Tool& tool = ToolFor(options.tool);
  if (tool.by_name) {
    const std::vector<std::string> nameless = DropNameless(selection);
    if (!nameless.empty()) {
      ListLines(fmt::format("the tool cannot find {} by name{}",
                            Count(nameless.size(), "node"),
                            options.skip_unaddressable ? "; omitted" : ""),
                nameless, terminal);
      if (!options.skip_unaddressable || selection.nodes.empty()) {
        return ExitCode::kFindings;
      }
    }
  }
  const ToolInput input = tool.write(selection, options);
  if (!input.obstacles.empty()) {
    ListLines("the tool cannot use this selection", input.obstacles, terminal);
    return ExitCode::kFindings;
  }
  terminal.Out(input.text);
  for (const std::string& note : input.notes) {
    terminal.Err(fmt::format("onnx-tag: {}\n", note));
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
