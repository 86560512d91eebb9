// What a node is, told by the nodes around it that no tool merges.
#pragma once

#include <array>
#include <cstdint>

#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag::transfer {

// Equal in two versions of a model if both nodes compute the same with weights
// of the same shapes, and the landmarks before them and behind them are alike,
// up to `depth` of them. Tools merge and insert the nodes between landmarks.
class Signatures {
 public:
  static constexpr std::size_t kDepths = 3;

  Signatures(const Model& model, const Operators& ops);

  // Nodes that compute with weights, and others that no tool merges with one.
  bool IsLandmark(NodeId node) const { return landmark_[node]; }
  std::uint64_t Of(NodeId node, std::size_t depth) const {
    return signatures_[depth][node];
  }

 private:
  std::uint64_t OwnOf(const Model& model, const Operators& ops, NodeId node);

  IdVector<NodeId, bool> landmark_;
  std::array<IdVector<NodeId, std::uint64_t>, kDepths> signatures_;
};

}  // namespace onnx_tag::transfer
