// Operations that were decomposed into several nodes: the node that reads the
// weight gives the module of all.
#include <algorithm>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {

// Norms that an exporter decomposed into arithmetic. The weight at the end
// gives the module.

namespace {

// The node that multiplies with the norm's weight or adds its bias, if a
// parameter gives its module; else kNo. A weight of several axes is applied
// behind the composite.
NodeId WeightOf(const Evidence& evidence, const Placed& placed,
                std::span<const NodeId> nodes) {
  const auto is_known = [&](NodeId node) {
    return node != kNo<NodeId> && IsPlacedByParameter(evidence, placed, node);
  };
  const auto known = std::find_if(nodes.begin(), nodes.end(), is_known);
  if (known != nodes.end()) return *known;
  const Links& links = evidence.graph.links;
  const NodeId weighted = links.OnlyReader(nodes.back(), {Op::kMul});
  if (is_known(weighted)) return weighted;
  const NodeId biased = links.OnlyReader(weighted, {Op::kAdd});
  return is_known(biased) ? biased : kNo<NodeId>;
}

}  // namespace

std::vector<Claim> ProposeFromNormPatterns(const Evidence& evidence,
                                           const Placed& placed) {
  std::vector<Claim> claims;
  const Composites& composites = evidence.graph.composites();
  for (const Composites::Composite& composite : composites) {
    if (!IsNorm(composite.kind)) continue;
    const auto nodes = composites.Nodes(composite);
    const NodeId known = WeightOf(evidence, placed, nodes);
    if (known == kNo<NodeId>) continue;
    for (const NodeId part : nodes) {
      if (placed[part].tagged()) continue;
      claims.push_back(
          {part, placed[known].module,
           std::min(placed[known].confidence, Confidence::kHigh),
           Source::kOperation,
           "it is part of a norm whose weight belongs to this module"});
    }
  }
  return claims;
}

// What dynamic quantization makes of one product: the product in integers, a
// Cast, the scales of both sides multiplied, and their product with the result.
// All of it is of one module, and the weight, its scale or the bias behind it
// says which.

namespace {

class QuantizedProducts {
 public:
  QuantizedProducts(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence), model_(evidence.model), placed_(placed) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (evidence_.graph.ops.Is(node, OpKind::kInteger)) Consider(node);
    }
    return std::move(claims_);
  }

 private:
  void Consider(NodeId product) {
    // The part that reads the weight comes first.
    const QuantizedParts parts = PartsOfQuantized(evidence_, product);
    for (const NodeId known : parts) {
      if (known == kNo<NodeId> || !placed_[known].tagged() ||
          placed_[known].source == Source::kLocality) {
        continue;
      }
      for (const NodeId part : parts) {
        if (part == kNo<NodeId> || placed_[part].tagged()) continue;
        claims_.push_back(
            {part, placed_[known].module,
             std::min(placed_[known].confidence, Confidence::kHigh),
             Source::kOperation,
             "part of a quantized product whose weight this module owns"});
      }
      return;
    }
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForQuantizedProducts(const Evidence& evidence,
                                               const Placed& placed) {
  return QuantizedProducts(evidence, placed).Run();
}

}  // namespace onnx_tag
