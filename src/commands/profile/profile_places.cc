#include "commands/profile/profile_places.h"

#include <algorithm>
#include <charconv>

#include "exporters/tools/original_name.h"

namespace onnx_tag {

KernelPlaces::KernelPlaces(const TaggedModel& model) : model_(model) {
  const NodeList& nodes = model.nodes();
  for (const NodeId node : nodes.All()) {
    const std::string_view name = nodes.Name(node);
    if (name.empty()) {
      unnamed_[nodes.IndexOf(node)].push_back(node);
    } else {
      by_name_[name].push_back(node);
    }
  }
  if (const Model* file = model.model()) {
    for (const NodeId node : file->Nodes()) {
      for (const ValueId value : file->Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        by_output_[file->ValueName(value)].push_back(node);
      }
    }
  }
}

KernelPlaces::Place KernelPlaces::Choose(const std::vector<NodeId>& nodes,
                                         std::string_view op) const {
  std::vector<NodeId> fitting;
  for (const NodeId node : nodes) {
    if (model_.nodes().Op(node) == op) fitting.push_back(node);
  }
  if (fitting.empty()) fitting = nodes;
  // Names that repeat are harmless where all are of one module.
  const auto& tags = model_.tagging().tags;
  const bool one =
      std::all_of(fitting.begin(), fitting.end(), [&](NodeId node) {
        return tags[node].module == tags[fitting.front()].module;
      });
  return {one ? Kind::kNode : Kind::kSeveral, fitting.front()};
}

// The runtime calls a nameless node "MatMul_12": its operator, and its index,
// which optimizers leave alone.
KernelPlaces::Place KernelPlaces::FindUnnamed(
    const profile::Kernel& kernel) const {
  const std::string_view name = kernel.name;
  const std::size_t bar = name.rfind('_');
  if (bar == std::string_view::npos || name.substr(0, bar) != kernel.op) {
    return {};
  }
  std::uint32_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + bar + 1, end, index);
  if (error != std::errc() || stop != end) return {};
  const auto at = unnamed_.find(index);
  if (at == unnamed_.end()) return {};
  std::vector<NodeId> fitting;
  for (const NodeId node : at->second) {
    if (model_.nodes().Op(node) == kernel.op) fitting.push_back(node);
  }
  return fitting.empty() ? Place() : Choose(fitting, kernel.op);
}

KernelPlaces::Place KernelPlaces::Find(const profile::Kernel& kernel) const {
  const auto named = by_name_.find(kernel.name);
  if (named != by_name_.end()) return Choose(named->second, kernel.op);
  const Place unnamed = FindUnnamed(kernel);
  if (unnamed.kind != Kind::kNone) return unnamed;
  // A table may name values.
  const auto output = by_output_.find(kernel.name);
  if (kernel.op.empty() && output != by_output_.end()) {
    return Choose(output->second, kernel.op);
  }
  const std::string_view undone = hierarchy::UndoNodeName(kernel.name).name;
  if (undone == kernel.name) return {};
  for (const auto* names : {&by_name_, &by_output_}) {
    const auto at = names->find(undone);
    if (at != names->end()) return Choose(at->second, kernel.op);
  }
  return {};
}

}  // namespace onnx_tag
