#include "ladder/rungs/run_order.h"

#include "graph/order.h"
#include "ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

// How far it is, in the tree of modules, along the named nodes.
std::size_t Wandering(const Evidence& evidence, const Placed& placed,
                      const DataValues& data,
                      const std::vector<NodeId>& nodes) {
  const ModuleTree& tree = evidence.modules;
  std::size_t steps = 0;
  ModuleId last = ModuleId{0};
  for (const NodeId node : nodes) {
    if (!IsKnown(placed[node]) || !data.IsMadeBy(node)) continue;
    const ModuleId module = placed[node].module;
    const ModuleId common = tree.CommonAncestor(last, module);
    steps += tree.Depth(last) + tree.Depth(module) - 2 * tree.Depth(common);
    last = module;
  }
  return steps;
}

// Whether modules run again and again, as recurrent ones do: asked for its
// outputs such a model would run each to the end before the next.
bool IsRecurrent(const Evidence& evidence) {
  std::size_t again = 0;
  for (const Parameter& parameter : evidence.parameters) {
    again += parameter.uses > 1 && parameter.trusted;
  }
  return again * 3 > evidence.parameters.size();
}

// Whether constants stand where they are used, as exporters write them. Tools
// that sort nodes anew put them elsewhere.
bool IsAsWritten(const Model& model, const std::vector<NodeId>& nodes) {
  constexpr std::size_t kLeast = 8;
  constexpr std::uint32_t kNear = 16;
  std::size_t constants = 0;
  std::size_t near = 0;
  for (const NodeId node : nodes) {
    if (model.OpType(node) != "Constant") continue;
    ++constants;
    const auto outputs = model.Outputs(node);
    if (outputs.empty() || outputs[0] == kNo<ValueId>) continue;
    for (const NodeId reader : model.Consumers(outputs[0])) {
      if (Index(reader) - Index(node) > kNear) continue;
      ++near;
      break;
    }
  }
  return constants >= kLeast && near * 10 >= constants * 8;
}

}  // namespace

RunOrder FindRunOrder(const Evidence& evidence, const Placed& placed,
                      const DataValues& data) {
  const Model& model = evidence.model;
  RunOrder order;
  order.nodes = model[GraphId{0}].nodes;
  if (!IsRecurrent(evidence) && !IsAsWritten(model, order.nodes)) {
    std::vector<NodeId> other = DepthFirstOrder(model, GraphId{0});
    const std::size_t file = Wandering(evidence, placed, data, order.nodes);
    if (Wandering(evidence, placed, data, other) * 10 < file * 9) {
      order.nodes = std::move(other);
      order.as_written = false;
    }
  }
  order.rank.resize(model.node_count(), 0);
  for (const NodeId node : model.Nodes()) {
    order.rank[node] = static_cast<std::uint32_t>(node);
  }
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    order.rank[order.nodes[i]] = static_cast<std::uint32_t>(i);
  }
  return order;
}

}  // namespace onnx_tag
