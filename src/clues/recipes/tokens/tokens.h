// A file as a sequence of tokens: its operations on data, with labels that are
// equal for every exporter, opset and optimizer.
//
//   const TokenGraph graph(model);
//   graph.tokens[0].label;  // "Gather:cd", "LIN", "LN", "Add:dd", ...
//
// Labels: LIN, CONV, LN, RMS, BN, GELU, SILU, QGELU, HSWISH, SOFTMAX; MatMul
// between two data tensors. If the meaning of an operator depends on its
// inputs, d (data) or c (constant) follows for the first two inputs: `Mul:dc`.
// Else the label is the operator. Extras distinguish tokens with the same
// label: LIN "=" square, "~" not square; Transpose its permutation; CONV
// kernel, strides and whether grouped.
//
// A node that an optimizer fused of several operations has a token for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clues/recipes/book/recipe.h"
#include "core/graph/graph_facts.h"
#include "onnx_tag/model.h"

namespace onnx_tag::recipes {

// The dataflow of the main graph, or of the body of a branch or loop: which
// nodes compute on data, and in which order. For a body, "main graph" means the
// body.
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

// An operator that an optimizer fused, as the tokens that it replaced.
struct Fused {
  // Labels in execution order, as above; empty: not a fused operator.
  std::vector<std::string> labels;
  std::size_t main = 0;  // the main operation, which gives the module
  // The owner of the parameters that it reads.
  enum class Owner { kMain, kProductBefore, kNobody } owner = Owner::kMain;
};

struct Token {
  std::string label;
  std::string extra;
  std::string_view anchor;  // path of the module whose parameter it uses; ""
  std::vector<NodeId> nodes;
  std::uint32_t main = 0;  // in nodes
  // The token is an operation that was fused into a node with its own token.
  bool is_echo = false;
  // Some projects use a module for an activation, others call a function.
  bool is_activation = false;
  std::vector<std::uint32_t> inputs;

  NodeId main_node() const { return nodes[main]; }
};

class TokenGraph {
 public:
  // The main graph, or the body of a branch or loop. `facts` must outlive
  // this.
  explicit TokenGraph(const GraphFacts& facts, GraphId body = GraphId{0});

  const DataFlow& flow() const { return flow_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  // By node: its token, or kNone.
  const IdVector<NodeId, std::uint32_t>& token_of() const { return token_of_; }
  // By node: as in Token, also for nodes without a token.
  const IdVector<NodeId, std::string_view>& anchors() const { return anchors_; }
  // Whether the ranges of quantizers replace all ReLUs.
  bool relus_folded() const;
  // The tokens that make the graph's outputs.
  std::vector<std::uint32_t> Outputs() const;

 private:
  void Build();
  void AddNode(NodeId node);
  void AddFused(NodeId node, const Fused& fused);
  void Connect();
  // The token that makes `value`, or kNone.
  std::uint32_t TokenFor(ValueId value) const;
  void MoveAnchors();
  std::string Label(NodeId node) const;
  Fused ReadFused(NodeId node) const;
  std::string Extra(const Token& token) const;

  DataFlow flow_;
  IdVector<NodeId, std::string_view> anchors_;
  IdVector<NodeId, std::uint32_t> token_of_{flow_.model().node_count(), kNone};
  // By node: the token of its output, or kNone; for a fused node the last
  // token.
  IdVector<NodeId, std::uint32_t> last_of_ = token_of_;
  std::vector<Token> tokens_;
  // Tokens whose node also adds the bias of the preceding product, and the
  // module of that bias.
  std::vector<std::pair<std::uint32_t, std::string_view>> biases_;
};

// Depth first from the outputs, with inputs in order: the same for every order
// of the file. `inputs`: the inputs of each token.
std::vector<std::uint32_t> DepthFirstOrder(
    const std::vector<std::vector<std::uint32_t>>& inputs,
    const std::vector<std::uint32_t>& outputs);

}  // namespace onnx_tag::recipes
