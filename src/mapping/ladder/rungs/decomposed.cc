// Operations that were decomposed into several nodes: what reads the weight
// gives the module of all.
#include <algorithm>

#include "mapping/ladder/rungs/rung_base.h"

namespace onnx_tag {
namespace {

// Norms that an exporter decomposed into arithmetic.
class NormPatterns : RungBase {
 public:
  using RungBase::RungBase;

  std::vector<Claim> Run() {
    const Composites& composites = evidence_.graph.composites();
    for (const Composites::Composite& composite : composites) {
      if (!IsNorm(composite.kind)) continue;
      const auto nodes = composites.Nodes(composite);
      const NodeId known = WeightOf(nodes);
      if (known == kNo<NodeId>) continue;
      for (const NodeId part : nodes) {
        Propose(part, placed_[known].module,
                std::min(placed_[known].confidence, Confidence::kHigh),
                Source::kOperation,
                "it is part of a norm whose weight belongs to this module");
      }
    }
    return std::move(claims_);
  }

 private:
  bool HasParameter(NodeId node) const {
    return node != kNo<NodeId> && IsPlacedByParameter(evidence_, placed_, node);
  }

  // The node that multiplies with the norm's weight or adds its bias, if a
  // parameter gives its module; else kNo. A weight of several axes is applied
  // behind the composite.
  NodeId WeightOf(std::span<const NodeId> nodes) const {
    for (const NodeId node : nodes) {
      if (HasParameter(node)) return node;
    }
    const Links& links = evidence_.graph.links;
    const NodeId weighted = links.OnlyReader(nodes.back(), {Op::kMul});
    if (HasParameter(weighted)) return weighted;
    const NodeId biased = links.OnlyReader(weighted, {Op::kAdd});
    return HasParameter(biased) ? biased : kNo<NodeId>;
  }
};

// What dynamic quantization makes of one product: all of it is of one module,
// and the weight, its scale or the bias behind it says which.
class QuantizedProducts : RungBase {
 public:
  using RungBase::RungBase;

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (ops_.Is(node, OpKind::kInteger)) Consider(node);
    }
    return std::move(claims_);
  }

 private:
  void Consider(NodeId product) {
    // The part that reads the weight comes first.
    const QuantizedParts parts = PartsOfQuantized(evidence_, product);
    for (const NodeId known : parts) {
      if (known == kNo<NodeId> || IsOpen(known) ||
          placed_[known].source == Source::kLocality) {
        continue;
      }
      for (const NodeId part : parts) {
        if (part == kNo<NodeId>) continue;
        Propose(part, placed_[known].module,
                std::min(placed_[known].confidence, Confidence::kHigh),
                Source::kOperation,
                "part of a quantized product whose weight this module owns");
      }
      return;
    }
  }
};

}  // namespace

std::vector<Claim> ProposeFromNormPatterns(const Evidence& evidence,
                                           const Placed& placed) {
  return NormPatterns(evidence, placed).Run();
}

std::vector<Claim> ProposeForQuantizedProducts(const Evidence& evidence,
                                               const Placed& placed) {
  return QuantizedProducts(evidence, placed).Run();
}

}  // namespace onnx_tag
