// Norms that an exporter decomposed into arithmetic. The weight at the end
// gives the module.
#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {

std::vector<Claim> ProposeFromNormPatterns(const Evidence& evidence,
                                           const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  for (const NodeId node : model.Nodes()) {
    if (!placed[node].tagged()) continue;
    const std::string_view op = model.OpType(node);
    if (op != "Mul" && op != "Add") continue;
    if (placed[node].source != Source::kParameter) continue;
    for (const NodeId part : NormBefore(evidence, node)) {
      if (placed[part].tagged()) continue;
      claims.push_back(
          {part, placed[node].module, Confidence::kHigh, Source::kOperation,
           "it is part of a norm whose weight belongs to this module"});
    }
  }
  return claims;
}

}  // namespace onnx_tag
