#include <algorithm>
#include <string>
#include <unordered_map>

#include "commands/export/graph_formats.h"

namespace onnx_tag {
namespace {

// Values by the graph that makes them and their name.
class Producers {
 public:
  explicit Producers(const NodeList& nodes) {
    for (const NodeId node : nodes.All()) {
      for (const std::string_view output : nodes.Outputs(node)) {
        if (output.empty()) continue;
        makers_[std::string(nodes.Graph(node))].emplace(output, node);
      }
    }
  }

  // A subgraph sees the values of the graphs around it.
  NodeId Find(std::string_view graph, std::string_view value) const {
    for (;;) {
      const auto scope = makers_.find(std::string(graph));
      if (scope != makers_.end()) {
        const auto at = scope->second.find(value);
        if (at != scope->second.end()) return at->second;
      }
      if (graph.empty()) return kNo<NodeId>;
      const std::size_t slash = graph.rfind('/');
      if (slash != std::string_view::npos) {
        graph = graph.substr(0, slash);
      } else if (graph.front() >= '0' && graph.front() <= '9') {
        graph = "";  // inside a node of the main graph
      } else {
        return kNo<NodeId>;  // a function sees its own values only
      }
    }
  }

 private:
  using Scope = std::unordered_map<std::string_view, NodeId>;
  std::unordered_map<std::string, Scope> makers_;
};

}  // namespace

std::vector<std::pair<NodeId, NodeId>> DataEdges(const NodeList& nodes) {
  const Producers producers(nodes);
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (const NodeId node : nodes.All()) {
    const auto first = edges.size();
    for (const std::string_view input : nodes.Inputs(node)) {
      if (input.empty()) continue;
      const NodeId maker = producers.Find(nodes.Graph(node), input);
      if (maker != kNo<NodeId>) edges.emplace_back(maker, node);
    }
    const auto begin = edges.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, edges.end());
    edges.erase(std::unique(begin, edges.end()), edges.end());
  }
  return edges;
}

}  // namespace onnx_tag
