#include "clues/recipes/tokens/data_flow.h"

#include "core/graph/order.h"

namespace onnx_tag::recipes {

DataFlow::DataFlow(const GraphFacts& facts, GraphId body)
    : facts_(facts), model_(facts.model), main_(body) {
  if (model_.graph_count() > 0) order_ = ExecutionOrder(model_, main_);
}

bool DataFlow::IsVisible(GraphId graph) const {
  for (GraphId at = main_; at != kNo<GraphId>; at = model_[at].parent) {
    if (at == graph) return true;
  }
  return false;
}

std::vector<ValueId> DataFlow::Reads(NodeId node) const {
  const auto inputs = model_.Inputs(node);
  std::vector<ValueId> reads;
  for (const ValueId input : inputs) {
    if (input != kNo<ValueId>) reads.push_back(input);
  }
  std::vector<GraphId> open(model_.Subgraphs(node).begin(),
                            model_.Subgraphs(node).end());
  while (!open.empty()) {
    const GraphId graph = open.back();
    open.pop_back();
    for (const NodeId inner : model_[graph].nodes) {
      for (const ValueId input : model_.Inputs(inner)) {
        if (input != kNo<ValueId> && model_[input].graph == main_) {
          reads.push_back(input);
        }
      }
      const auto below = model_.Subgraphs(inner);
      open.insert(open.end(), below.begin(), below.end());
    }
  }
  return reads;
}

NodeId DataFlow::Producer(ValueId value) const {
  if (value == kNo<ValueId>) return kNo<NodeId>;
  const NodeId node = model_.Producer(value);
  return node != kNo<NodeId> && model_[node].graph == main_ ? node
                                                            : kNo<NodeId>;
}

std::vector<NodeId> DataFlow::Readers(ValueId value) const {
  std::vector<NodeId> readers;
  // Consumers are in the file's order, a node before those of its subgraphs:
  // equal readers are neighbours.
  for (NodeId node : model_.Consumers(value)) {
    while (node != kNo<NodeId> && model_[node].graph != main_) {
      node = model_[model_[node].graph].parent_node;
    }
    if (node != kNo<NodeId> && (readers.empty() || readers.back() != node)) {
      readers.push_back(node);
    }
  }
  return readers;
}

}  // namespace onnx_tag::recipes
