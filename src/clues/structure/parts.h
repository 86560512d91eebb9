// Which nodes of a model are one operation, and which operations do its work.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph_facts.h"
#include "onnx_tag/model.h"

namespace onnx_tag::structure {

constexpr std::uint32_t kNone = 0xffffffff;

enum class AtomKind : std::uint8_t {
  kLinear,     // a product with a weight
  kMatMul,     // a product of two values
  kPointwise,  // a convolution of size 1
  kConv,       // a larger one
  kDepthwise,
  kDeconv,  // a transposed one
  kRecurrent,
  kAttention,  // a whole attention in one node
  kCall,       // of a function or a subgraph with any of these
  kNorm,
  kActivation,
  kPool,
  kSoftmax,
  kJoin,       // a sum or concatenation of values
  kEmbedding,  // rows of a table
  kNeutral,    // moves data
  kOther,
};

constexpr bool IsHeavy(AtomKind kind) { return kind <= AtomKind::kCall; }
constexpr bool IsConv(AtomKind kind) {
  return kind >= AtomKind::kPointwise && kind <= AtomKind::kDeconv;
}

// Nodes that hand their first input on.
constexpr OpKinds kAliases = {OpKind::kIdentity, OpKind::kDropout,
                              OpKind::kQuantizer, OpKind::kDequantizer};

// Operators that move data: not counted when blocks are compared.
constexpr OpKinds kMoves = {
    OpKind::kReshape, OpKind::kTranspose, OpKind::kSlice,
    OpKind::kExpand,  OpKind::kIdentity,  OpKind::kDropout,
    OpKind::kCast,    OpKind::kQuantizer, OpKind::kDequantizer};

// What is found once for all graphs of a model.
class ModelParts {
 public:
  struct Group {
    AtomKind kind;  // kOther: that of `main`
    NodeId main;
  };
  // What the nodes of subgraphs read from the graphs around them, as edges
  // between nodes of one graph: `to` is the node that holds the subgraph.
  struct OuterRead {
    NodeId from;
    NodeId to;
  };

  explicit ModelParts(const GraphFacts& graph);

  const GraphFacts& graph() const { return graph_; }
  // Operators that do the work of a model: products, convolutions, recurrent
  // layers, attention, and what holds or calls a graph that has them.
  bool IsHeavy(NodeId node) const { return heavy_[node]; }
  // Nodes of one group are one atom; kNone: the node is one by itself.
  std::uint32_t GroupOf(NodeId node) const { return group_of_[node]; }
  const Group& operator[](std::uint32_t group) const { return groups_[group]; }
  const std::vector<OuterRead>& OuterReads(GraphId graph) const {
    return outer_[graph];
  }

 private:
  void FindHeavy();
  void FindGroups();
  NodeId OnlyReader(NodeId node) const;
  void JoinBias(NodeId product);
  void JoinRecurrent(NodeId node);
  void JoinTransposed(NodeId norm, NodeId first, NodeId last);
  std::uint32_t Join(NodeId node, NodeId with);
  void FindOuterReads();

  const GraphFacts& graph_;
  const Model& model_ = graph_.model;
  IdVector<NodeId, bool> heavy_{model_.node_count()};
  IdVector<NodeId, std::uint32_t> group_of_{model_.node_count(), kNone};
  std::vector<Group> groups_;
  IdVector<GraphId, std::vector<OuterRead>> outer_{model_.graph_count()};
};

}  // namespace onnx_tag::structure
