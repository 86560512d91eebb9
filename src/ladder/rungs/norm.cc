// Norms that an exporter decomposed into arithmetic. The weight at the end
// gives the module.
#include <algorithm>

#include "ladder/claim.h"

namespace onnx_tag {
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

}  // namespace onnx_tag
