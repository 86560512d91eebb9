// The dataflow of the main graph, or of the body of a branch or loop: which
// nodes compute on data, and in which order. For a body, "main graph" means the
// body.
#ifndef ONNX_TAG_CLUES_RECIPES_TOKENS_DATA_FLOW_H_
#define ONNX_TAG_CLUES_RECIPES_TOKENS_DATA_FLOW_H_

#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph_facts.h"
#include "onnx_tag/model.h"

namespace onnx_tag::recipes {

class DataFlow {
 public:
  explicit DataFlow(const GraphFacts& facts, GraphId body = GraphId{0});

  const GraphFacts& facts() const { return facts_; }
  const Model& model() const { return model_; }
  const Graph& graph() const { return model_[main_]; }
  GraphId main() const { return main_; }
  // Its values can be read here.
  bool IsVisible(GraphId graph) const;

  // The main graph's nodes, producers first; in file order if possible.
  const std::vector<NodeId>& Order() const { return order_; }

  // Whether the value depends on an input, not only on the shape of an input.
  bool IsData(NodeId node) const { return facts_.data.IsMadeBy(node); }
  bool IsData(ValueId value) const { return facts_.data.Contains(value); }

  // The values that a node reads: its inputs, then values that its subgraphs
  // capture.
  std::vector<ValueId> Reads(NodeId node) const;

  // The main graph's nodes that read a value, those with a subgraph that
  // captures it included, each once.
  std::vector<NodeId> Readers(ValueId value) const;

  // The node of the main graph that makes `value`, or kNo.
  NodeId Producer(ValueId value) const;

  // Quantizers and dequantizers of data can occur anywhere.
  bool IsTransparent(NodeId node) const {
    return facts_.links.IsTransparent(node);
  }
  // The value that reaches `value` through transparent nodes only.
  ValueId Source(ValueId value) const { return facts_.links.Source(value); }

 private:
  const GraphFacts& facts_;
  const Model& model_;
  GraphId main_;
  std::vector<NodeId> order_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_CLUES_RECIPES_TOKENS_DATA_FLOW_H_
