// The nodes of a file in execution order, with the kind of data that each uses:
// the file's side of an alignment. Names are not used.
#pragma once

#include <cstdint>
#include <vector>

#include "base/lists.h"
#include "clues/projection/run_steps.h"
#include "core/graph/graph_facts.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class NodeTokenId : std::uint32_t {};

// A node that an operation of the source model may have made.
struct NodeToken {
  NodeId node = kNo<NodeId>;
  Op op = Op::kNone;  // plain: see PlainOperator()
  // The operator of the norm or activation that it is, or that its arithmetic
  // is a part of; or kNone.
  Op whole = Op::kNone;
  bool depends_on_input = false;
  bool has_shape = false;
  bool reads_table = false;  // several numbers that are no data
  Shape shape;
  std::vector<NodeTokenId>
      sources;  // past nodes that are no tokens; as they are read
  std::vector<Shape> weights;  // dims sorted
};

inline bool HasMatrix(const std::vector<Shape>& weights) {
  return AnyIn(weights, [](const Shape& shape) { return shape.size() > 1; });
}

struct NodeTokens {
  IdVector<NodeTokenId, NodeToken> tokens;
  IdVector<NodeId, NodeTokenId> by_node;  // kNo: not a token
  std::vector<NodeId> order;              // all nodes in execution order
};

NodeTokens MakeNodeTokens(const GraphFacts& facts);

// The same as they run when outputs are asked for: tools sort nodes anew.
NodeTokens SortDepthFirst(const Model& model, const NodeTokens& table);

// The tokens in another order.
NodeTokens InOrder(const NodeTokens& table,
                   const std::vector<NodeTokenId>& order);

// By token: those that read it.
IdVector<NodeTokenId, std::vector<NodeTokenId>> ReadersOf(
    const IdVector<NodeTokenId, NodeToken>& tokens);

}  // namespace onnx_tag
