#include "core/graph/order.h"

#include <algorithm>
#include <map>

#include "core/graph/neighbours.h"

namespace onnx_tag {
namespace {

// What nodes of one graph read.
class Reads {
 public:
  Reads(const Model& model, GraphId graph) : model_(model), graph_(graph) {}

  // What a node reads, its own graphs included.
  std::span<const ValueId> Of(NodeId node) {
    const auto inputs = model_.Inputs(node);
    if (model_.Subgraphs(node).empty()) return inputs;
    std::vector<ValueId>& all = inner_[node];
    if (all.empty()) {
      all.assign(inputs.begin(), inputs.end());
      std::vector<GraphId> graphs(model_.Subgraphs(node).begin(),
                                  model_.Subgraphs(node).end());
      for (std::size_t i = 0; i < graphs.size(); ++i) {
        for (const NodeId inner : model_[graphs[i]].nodes) {
          const auto values = model_.Inputs(inner);
          all.insert(all.end(), values.begin(), values.end());
          const auto more = model_.Subgraphs(inner);
          graphs.insert(graphs.end(), more.begin(), more.end());
        }
      }
    }
    return all;
  }

  // kNo if another graph makes it.
  NodeId MakerOf(ValueId value) const {
    const NodeId maker = ProducerOf(model_, value);
    return maker == kNo<NodeId> || model_[maker].graph != graph_ ? kNo<NodeId>
                                                                 : maker;
  }

 private:
  const Model& model_;
  GraphId graph_;
  std::map<NodeId, std::vector<ValueId>> inner_;
};

std::vector<NodeId> WalkFrom(const Model& model, GraphId graph,
                             std::span<const NodeId> starts) {
  Reads reads(model, graph);
  return DepthFirst<NodeId>(
      model.node_count(), starts, [&](NodeId node) { return reads.Of(node); },
      [&](ValueId value) { return reads.MakerOf(value); });
}

// The main result first: what takes the longest way.
std::vector<NodeId> OutputsByDepth(const Model& model, GraphId graph) {
  IdVector<NodeId, std::uint32_t> depth(model.node_count(), 0);
  for (const NodeId node : model[graph].nodes) {
    for (const ValueId input : model.Inputs(node)) {
      const NodeId producer = ProducerOf(model, input);
      if (producer != kNo<NodeId>) {
        depth[node] = std::max(depth[node], depth[producer] + 1);
      }
    }
  }
  std::vector<NodeId> outputs;
  for (const ValueId output : model[graph].outputs) {
    const NodeId producer = ProducerOf(model, output);
    if (producer != kNo<NodeId> && model[producer].graph == graph) {
      outputs.push_back(producer);
    }
  }
  std::stable_sort(outputs.begin(), outputs.end(),
                   [&](NodeId a, NodeId b) { return depth[a] > depth[b]; });
  return outputs;
}

}  // namespace

std::vector<NodeId> ExecutionOrder(const Model& model, GraphId graph) {
  return WalkFrom(model, graph, model[graph].nodes);
}

std::vector<NodeId> DepthFirstOrder(const Model& model, GraphId graph) {
  std::vector<NodeId> starts = OutputsByDepth(model, graph);
  const std::vector<NodeId>& nodes = model[graph].nodes;
  starts.insert(starts.end(), nodes.begin(), nodes.end());
  return WalkFrom(model, graph, starts);
}

std::vector<NodeId> ExecutionOrder(const Model& model) {
  std::vector<NodeId> nodes;
  nodes.reserve(model.node_count());
  for (const NodeId node : model.Nodes()) nodes.push_back(node);
  return DepthFirst<NodeId>(
      nodes.size(), nodes, [&](NodeId node) { return model.Inputs(node); },
      [&](ValueId value) { return ProducerOf(model, value); });
}

}  // namespace onnx_tag
