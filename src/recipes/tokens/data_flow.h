// The dataflow of the main graph, or of the body of a branch or loop: which
// nodes compute on data, and in which order. For a body, "main graph" means the
// body.
#ifndef ONNX_TAG_RECIPES_TOKENS_DATA_FLOW_H_
#define ONNX_TAG_RECIPES_TOKENS_DATA_FLOW_H_

#include <span>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag::recipes {

class DataFlow {
 public:
  explicit DataFlow(const Model& model);
  // For the body of a node with subgraphs, which can read values outside;
  // `outside` is the dataflow of the main graph.
  DataFlow(const Model& model, GraphId body, const DataFlow& outside);

  const Model& model() const { return model_; }
  const Graph& graph() const { return model_[main_]; }
  GraphId main() const { return main_; }
  // Its values can be read here.
  bool IsVisible(GraphId graph) const;

  // The main graph's nodes, producers first; in file order if possible.
  const std::vector<NodeId>& Order() const { return order_; }

  // Whether the value depends on an input, not only on the shape of an input.
  bool IsData(NodeId node) const { return data_node_[node]; }
  bool IsData(ValueId value) const {
    return value != kNo<ValueId> && data_value_[Index(value)];
  }

  // The values that a node reads: its inputs, then values that its subgraphs
  // capture.
  std::vector<ValueId> Reads(NodeId node) const;

  // The main graph's nodes that read a value, those with a subgraph that
  // captures it included, each once.
  std::vector<NodeId> Readers(ValueId value) const;
  // The same, where a pattern has a use for a few readers only: none if
  // there are more than `most` reads.
  std::vector<NodeId> FewReaders(ValueId value, std::size_t most) const;

  // The node of the main graph that makes `value`, or kNo.
  NodeId Producer(ValueId value) const;

  // Quantizers and dequantizers on data can occur anywhere. The functions below
  // skip them.
  bool IsTransparent(NodeId node) const { return transparent_[node]; }
  // The value that reaches `value` through transparent nodes only.
  ValueId Source(ValueId value) const;

  // The node that makes `value` from data, if its operator is one of `ops`.
  NodeId DataProducer(ValueId value,
                      std::initializer_list<std::string_view> ops) const;

  // The only consumer of a node's first output, if its operator is one of
  // `ops`.
  NodeId OnlyReader(NodeId node,
                    std::initializer_list<std::string_view> ops) const;

  // The node's first operand that is not data, or kNo.
  ValueId ConstantInput(NodeId node) const;
  // The sources of its operands that are.
  std::vector<ValueId> DataInputs(NodeId node) const;

  // The shape of a tensor of the file, through nodes that pass it on. If there
  // is none, it is empty and `known` is false.
  struct Shape {
    bool known = false;
    std::span<const std::int64_t> dims;
  };
  Shape TensorShape(ValueId value) const;

 private:
  void Sort();
  void FindData();
  void FindReadersThrough();
  void SeeOutside(const DataFlow& outside);
  // The first few inputs. Arithmetic has two: patterns look no further, so
  // that an input list as long as the file costs nothing.
  std::span<const ValueId> Operands(NodeId node) const;
  // The only reader of a node's first output, transparent or not, or kNo.
  NodeId NextReader(NodeId node) const;

  const Model& model_;
  GraphId main_ = GraphId{0};
  std::vector<NodeId> order_;
  IdVector<NodeId, bool> data_node_;
  IdVector<NodeId, bool> transparent_;
  std::vector<bool> data_value_;
  // Of transparent nodes: what Source() gives for their output, and their only
  // reader that is not transparent. Chains of them may be long.
  IdVector<NodeId, ValueId> source_;
  IdVector<NodeId, NodeId> reader_through_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_DATA_FLOW_H_
