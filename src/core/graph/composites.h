// Operations that exporters, optimizers and quantizers write as several nodes,
// recognized by their arithmetic, without names. All layers ask here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/links.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class CompositeKind : std::uint8_t {
  kLinear,       // a product with a weight, with its bias, casts and reshapes
  kConvolution,  // of integers, with its casts, scales and bias
  kLayerNorm,
  kRmsNorm,
  kGroupNorm,
  kGelu,
  kQuickGelu,  // x sigmoid(1.702 x)
  kSilu,
  kHardSwish,
  kMish,
};

constexpr bool IsActivation(CompositeKind kind) {
  return kind >= CompositeKind::kGelu;
}
constexpr bool IsNorm(CompositeKind kind) {
  return kind >= CompositeKind::kLayerNorm && kind <= CompositeKind::kGroupNorm;
}

// The composites of a model, in the order of their first nodes' recognition. A
// node belongs to at most one.
class Composites {
 public:
  struct Composite {
    CompositeKind kind;
    NodeId main;  // reads the weight, or does the main computation
    std::uint32_t first;
    std::uint32_t count;
  };

  explicit Composites(const Links& links);

  // The composite that the node is part of, or null.
  const Composite* Of(NodeId node) const {
    return of_[node] == kNone ? nullptr : &composites_[of_[node]];
  }
  auto begin() const { return composites_.begin(); }
  auto end() const { return composites_.end(); }
  std::span<const NodeId> Nodes(const Composite& composite) const {
    return {nodes_.data() + composite.first, composite.count};
  }

 private:
  friend class CompositeFinder;

  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  std::vector<Composite> composites_;
  std::vector<NodeId> nodes_;
  IdVector<NodeId, std::uint32_t> of_;  // an index of composites_
};

// What dynamic quantization makes of one product. kNo for what is not there.
struct QuantizedProduct {
  NodeId product = kNo<NodeId>;
  NodeId quantizer = kNo<NodeId>;  // of the data
  NodeId cast = kNo<NodeId>;       // back to floating point
  NodeId scales = kNo<NodeId>;     // the Mul of both scales
  NodeId scaled = kNo<NodeId>;     // the Mul with the scales
  NodeId bias = kNo<NodeId>;       // the Add of the bias
};
// `product` is of OpKind::kInteger.
QuantizedProduct FindQuantizedProduct(const Links& links, NodeId product);

}  // namespace onnx_tag
