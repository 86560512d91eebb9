#include "onnx_tag/model.h"

#include <fmt/core.h>

#include <algorithm>

namespace onnx_tag {

std::span<const MetadataEntry> Model::Metadata(NodeId id) const {
  const Node& node = nodes_[id];
  return std::span(node_metadata_)
      .subspan(node.first_metadata, node.metadata_count);
}

std::string_view Model::DocString(NodeId id) const {
  // If a node has two, the second one counts.
  const auto after = std::upper_bound(
      doc_strings_.begin(), doc_strings_.end(), id,
      [](NodeId node, const auto& entry) { return node < entry.first; });
  if (after == doc_strings_.begin() || std::prev(after)->first != id) return {};
  return std::prev(after)->second;
}

Bytes Model::NodeBytes(NodeId id) const {
  const wire::Message& message = spine_[nodes_[id].message];
  return bytes_.substr(message.begin, message.size);
}

std::span<const GraphId> Model::Subgraphs(NodeId id) const {
  const auto [first, last] =
      std::equal_range(subgraph_nodes_.begin(), subgraph_nodes_.end(), id);
  return std::span(subgraph_graphs_)
      .subspan(static_cast<std::size_t>(first - subgraph_nodes_.begin()),
               static_cast<std::size_t>(last - first));
}

const Initializer* Model::InitializerOf(ValueId id) const {
  if (id == kNo<ValueId>) return nullptr;
  const std::uint32_t at = values_[id].initializer;
  return at < initializers_.size() ? &initializers_[at] : nullptr;
}

const ValueInfo* Model::InfoOf(ValueId id) const {
  if (id == kNo<ValueId>) return nullptr;
  const std::uint32_t at = values_[id].info;
  return at < value_infos_.size() ? &value_infos_[at] : nullptr;
}

std::span<const MetadataEntry> Model::Metadata(const ValueInfo& info) const {
  return std::span(value_metadata_)
      .subspan(info.first_metadata, info.metadata_count);
}

std::span<const std::int64_t> Model::Dims(const Initializer& tensor) const {
  return std::span(dims_).subspan(tensor.first_dim, tensor.rank);
}

std::span<const std::int64_t> Model::Dims(const ValueInfo& info) const {
  return std::span(dims_).subspan(info.first_dim, info.rank);
}

std::string Model::GraphPath(GraphId id) const {
  const Graph& graph = graphs_[id];
  if (!graph.path.empty()) return std::string(graph.path);
  switch (graph.kind) {
    case GraphKind::kMain:
      return "";
    case GraphKind::kFunction: {
      const Function& function = functions_[graph.function];
      return fmt::format("fn:{}::{}{}{}", function.domain, function.name,
                         function.overload.empty() ? "" : ":",
                         function.overload);
    }
    case GraphKind::kTraining:
      return fmt::format(
          "train[{}]:{}", graph.position,
          graph.training_algorithm ? "algorithm" : "initialization");
    case GraphKind::kSubgraph:
      break;
  }
  const std::string outer = GraphPath(graph.parent);
  std::string path =
      fmt::format("{}{}{}:{}", outer, outer.empty() ? "" : "/",
                  nodes_[graph.parent_node].index, graph.attribute);
  if (graph.position != 0xffffffff) path += fmt::format("[{}]", graph.position);
  return path;
}

std::string Model::Address(NodeId id) const {
  return fmt::format("{}#{}", GraphPath(nodes_[id].graph), nodes_[id].index);
}

std::vector<std::string_view> Model::NamesOf(
    std::span<const ValueId> values) const {
  std::vector<std::string_view> names;
  names.reserve(values.size());
  for (const ValueId value : values) names.push_back(ValueName(value));
  return names;
}

}  // namespace onnx_tag
