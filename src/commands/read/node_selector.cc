#include "commands/read/node_selector.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <vector>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// How many of several nodes an error lists.
constexpr std::size_t kListed = 10;

// `GRAPH#INDEX`; nothing if it does not read like one.
std::optional<NodeId> ByAddress(const Model& model, std::string_view selector) {
  const std::size_t hash = selector.rfind('#');
  if (hash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = selector.substr(hash + 1);
  std::uint32_t index = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  for (const GraphId graph : model.Graphs()) {
    if (model.GraphPath(graph) != selector.substr(0, hash)) continue;
    const std::vector<NodeId>& nodes = model[graph].nodes;
    if (index < nodes.size()) return nodes[index];
    Fail(ErrorKind::kUsage, "no node {}: the graph has {}", Printable(selector),
         Count(nodes.size(), "node"));
  }
  return std::nullopt;
}

bool HasOutput(const Model& model, NodeId node, std::string_view name) {
  for (const ValueId output : model.Outputs(node)) {
    if (output != kNo<ValueId> && model.ValueName(output) == name) return true;
  }
  return false;
}

}  // namespace

NodeId SelectNode(const Model& model, std::string_view selector) {
  if (const std::optional<NodeId> node = ByAddress(model, selector)) {
    return *node;
  }
  std::string_view word = selector;
  bool by_name = true;
  bool by_output = true;
  if (word.starts_with("name=")) {
    word.remove_prefix(5);
    by_output = false;
  } else if (word.starts_with("output=")) {
    word.remove_prefix(7);
    by_name = false;
  }
  std::vector<NodeId> found;
  for (const NodeId node : model.Nodes()) {
    if ((by_name && model[node].name == word) ||
        (by_output && HasOutput(model, node, word))) {
      found.push_back(node);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    Fail(ErrorKind::kUsage,
         "no node '{}'\n  give its name, one of its outputs, or its index: "
         "#INDEX or GRAPH#INDEX",
         Printable(selector));
  }
  std::string list;
  for (std::size_t i = 0; i < found.size() && i < kListed; ++i) {
    list +=
        fmt::format("\n  {}  {} {}", Printable(NodeAddress(model, found[i])),
                    Printable(model.OpType(found[i]), 40),
                    Printable(model[found[i]].name, 60));
  }
  if (found.size() > kListed) {
    list += fmt::format("\n  and {} more", found.size() - kListed);
  }
  Fail(ErrorKind::kUsage, "'{}' matches {}; choose one:{}", Printable(selector),
       Count(found.size(), "node"), list);
}

std::string NodeAddress(const Model& model, NodeId node) {
  return fmt::format("{}#{}", model.GraphPath(model[node].graph),
                     model[node].index);
}

}  // namespace onnx_tag
