#include "tagging/node_list.h"

#include <fmt/core.h>

namespace onnx_tag {
namespace {

std::vector<std::string_view> ValueNames(const Model& model,
                                         std::span<const ValueId> values) {
  std::vector<std::string_view> names;
  names.reserve(values.size());
  for (const ValueId value : values) {
    names.push_back(value == kNo<ValueId> ? std::string_view()
                                          : model.ValueName(value));
  }
  return names;
}

}  // namespace

NodeList::NodeList(const Model& model) : model_(&model) {
  graph_paths_.reserve(model.graph_count());
  for (const GraphId graph : model.Graphs()) {
    graph_paths_.push_back(model.GraphPath(graph));
  }
}

std::vector<std::string_view> NodeList::Inputs(NodeId node) const {
  if (model_ != nullptr) return ValueNames(*model_, model_->Inputs(node));
  const std::vector<std::string>& names = Row(node).inputs;
  return {names.begin(), names.end()};
}

std::vector<std::string_view> NodeList::Outputs(NodeId node) const {
  if (model_ != nullptr) return ValueNames(*model_, model_->Outputs(node));
  const std::vector<std::string>& names = Row(node).outputs;
  return {names.begin(), names.end()};
}

std::string NodeList::Address(NodeId node) const {
  return fmt::format("{}#{}", Graph(node), IndexOf(node));
}

}  // namespace onnx_tag
