// A file as a string of tokens: what it does to fed data, in words that are
// the same for every exporter, opset and optimizer.
//
//   const TokenGraph graph(model);
//   graph.tokens[0].label;  // "Gather:cd", "LIN", "LN", "Add:dd", ...
//
// Labels: LIN, CONV, LN, RMS, BN, GELU, SILU, QGELU, HSWISH, SOFTMAX, ATTN;
// MatMul between two data tensors; for operators whose meaning depends on what
// they read, d (data) or c (constant) for the first two inputs: `Mul:dc`; else
// the operator. Extras tell tokens of one label apart: LIN "=" square, "~"
// not; Transpose its permutation; CONV kernel, strides and whether grouped.
//
// A node that an optimizer fused of several operations has a token for each.
#ifndef ONNX_TAG_RECIPES_TOKENS_TOKENS_H_
#define ONNX_TAG_RECIPES_TOKENS_TOKENS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/book/recording.h"
#include "recipes/tokens/data_flow.h"
#include "recipes/tokens/fused.h"

namespace onnx_tag::recipes {

struct Token {
  std::string label;
  std::string extra;
  std::string_view anchor;  // path of the module whose parameter it uses; ""
  std::vector<NodeId> nodes;
  std::uint32_t main = 0;  // in nodes
  // Stands for an operation that its node, which has a token of its own,
  // was fused with.
  bool is_echo = false;
  std::vector<std::uint32_t> inputs;

  NodeId main_node() const { return nodes[main]; }
};

class TokenGraph {
 public:
  // The main graph of `model`, which must outlive this.
  explicit TokenGraph(const Model& model);
  // The body of a branch or loop; `outside` is of the main graph.
  TokenGraph(const Model& model, GraphId body, const DataFlow& outside);

  const DataFlow& flow() const { return flow_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  // By node: its token, or kNone.
  const IdVector<NodeId, std::uint32_t>& token_of() const { return token_of_; }
  // By node: as in Token, for nodes of no token, too.
  const IdVector<NodeId, std::string_view>& anchors() const { return anchors_; }
  // A quantizer's range does the work of every ReLU: there is none.
  bool relus_folded() const;
  // The tokens that make the graph's outputs.
  std::vector<std::uint32_t> Outputs() const;

 private:
  explicit TokenGraph(DataFlow flow);
  void Build();
  void AddNode(NodeId node);
  void AddFused(NodeId node, const Fused& fused);
  void Connect();
  // The token that makes `value`, or kNone.
  std::uint32_t TokenFor(ValueId value) const;
  void MoveAnchors();
  std::string Label(NodeId node) const;
  std::string Extra(const Token& token) const;

  DataFlow flow_;
  IdVector<NodeId, std::string_view> anchors_;
  IdVector<NodeId, std::uint32_t> token_of_;
  // By node: the token that makes what it gives, or kNone; of a fused node the
  // last.
  IdVector<NodeId, std::uint32_t> last_of_;
  std::vector<Token> tokens_;
  // Tokens whose node adds the bias of the product before it, too, and whose
  // bias that is.
  std::vector<std::pair<std::uint32_t, std::string_view>> biases_;
};

// Depth first from the outputs, inputs in order: the same for any re-sorted
// copy of a file. `inputs` are each token's.
std::vector<std::uint32_t> DepthFirstOrder(
    const std::vector<std::vector<std::uint32_t>>& inputs,
    const std::vector<std::uint32_t>& outputs);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_TOKENS_H_
