// Every rung's word on one node: each runs as if that node were still open.
#include <fmt/core.h>

#include "mapping/ladder.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

Explanation Explain(const Model& model, const MappingOptions& options,
                    NodeId node) {
  const Strategy& strategy = FindStrategy(options.strategy);
  const Evidence evidence = GatherEvidence(model, options.hierarchy);
  Placed placed(model.node_count());
  Explanation explanation;
  bool won = false;
  for (const Rung& rung : strategy.rungs) {
    Placed open = placed;
    open[node] = Tag();
    for (const Claim& proposed : rung.propose(evidence, open)) {
      if (proposed.node != node) continue;
      const std::optional<Claim> admitted = Admit(evidence, proposed);
      if (!admitted) continue;
      const Claim& claim = *admitted;
      const bool wins = !won && claim.confidence >= options.min_confidence;
      explanation.claims.push_back(
          {.rung = std::string(rung.name),
           .module = evidence.modules.Path(claim.module),
           .confidence = claim.confidence,
           .source = claim.source,
           .because = std::string(claim.because),
           .wins = wins});
      won = true;
      break;
    }
    Climb(evidence, rung, placed);
  }
  DescribeEvidence(evidence, node, explanation.notes);
  return explanation;
}

void DescribeEvidence(const Evidence& evidence, NodeId node,
                      std::vector<std::string>& notes) {
  const ScopeId scope = evidence.node_scope[node];
  if (scope != kNo<ScopeId>) {
    notes.push_back(fmt::format("the scope in its name is /{}",
                                evidence.scopes[scope].text));
  }
  for (const ValueId input : evidence.model.Inputs(node)) {
    const ParameterId id = evidence.ParameterOf(input);
    if (id == kNo<ParameterId>) continue;
    const Parameter& parameter = evidence.parameters[id];
    notes.push_back(fmt::format(
        "it reads the parameter {}{}", parameter.name,
        parameter.trusted
            ? ""
            : ", which several places read: the name may be that of an equal "
              "tensor"));
  }
}

}  // namespace onnx_tag
