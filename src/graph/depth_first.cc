#include "graph/depth_first.h"

#include <algorithm>
#include <map>
#include <span>

namespace onnx_tag {
namespace {

class Walk {
 public:
  Walk(const Model& model, GraphId graph)
      : model_(model), graph_(graph), seen_(model.node_count(), false) {}

  std::vector<NodeId> Run() {
    const std::vector<NodeId>& nodes = model_[graph_].nodes;
    order_.reserve(nodes.size());
    for (const NodeId output : OutputsByDepth()) Visit(output);
    for (const NodeId node : nodes) Visit(node);
    return std::move(order_);
  }

 private:
  struct Frame {
    NodeId node;
    std::size_t next;  // of what it reads
  };

  // The main result first: what takes the longest way.
  std::vector<NodeId> OutputsByDepth() const {
    IdVector<NodeId, std::uint32_t> depth(model_.node_count(), 0);
    for (const NodeId node : model_[graph_].nodes) {
      for (const ValueId input : model_.Inputs(node)) {
        const NodeId producer =
            input == kNo<ValueId> ? kNo<NodeId> : model_.Producer(input);
        if (producer != kNo<NodeId>) {
          depth[node] = std::max(depth[node], depth[producer] + 1);
        }
      }
    }
    std::vector<NodeId> outputs;
    for (const ValueId output : model_[graph_].outputs) {
      const NodeId producer =
          output == kNo<ValueId> ? kNo<NodeId> : model_.Producer(output);
      if (producer != kNo<NodeId>) outputs.push_back(producer);
    }
    std::stable_sort(outputs.begin(), outputs.end(),
                     [&](NodeId a, NodeId b) { return depth[a] > depth[b]; });
    return outputs;
  }

  // What a node reads, its own graphs included.
  std::span<const ValueId> ReadBy(NodeId node) {
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

  void Enter(NodeId node) {
    if (node == kNo<NodeId> || seen_[node] || model_[node].graph != graph_) {
      return;
    }
    seen_[node] = true;
    frames_.push_back({node, 0});
  }

  void Visit(NodeId node) {
    Enter(node);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const std::span<const ValueId> read = ReadBy(frame.node);
      if (frame.next < read.size()) {
        const ValueId input = read[frame.next++];
        if (input != kNo<ValueId>) Enter(model_.Producer(input));
        continue;
      }
      order_.push_back(frame.node);
      frames_.pop_back();
    }
  }

  const Model& model_;
  GraphId graph_;
  IdVector<NodeId, bool> seen_;
  std::vector<Frame> frames_;
  std::vector<NodeId> order_;
  std::map<NodeId, std::vector<ValueId>> inner_;
};

}  // namespace

std::vector<NodeId> DepthFirstOrder(const Model& model, GraphId graph) {
  return Walk(model, graph).Run();
}

}  // namespace onnx_tag
