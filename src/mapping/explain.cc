// Every rung's word on one node: each runs as if that node were still open.
#include <fmt/core.h>

#include <algorithm>

#include "ladder/ladder.h"
#include "mapping/apply_rules.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

namespace {

// Rules that look at the module a node has, and what else rules give it.
void ExplainRules(Evidence& evidence, NodeId node, Explanation& explanation) {
  if (evidence.rules == nullptr) return;
  const auto winner =
      std::find_if(explanation.claims.begin(), explanation.claims.end(),
                   [](const ExplainedClaim& claim) { return claim.wins; });
  if (winner == explanation.claims.end()) return;
  const ModuleId module = evidence.modules.Find(winner->module);
  DescribeRules(evidence, node, module, explanation.notes);
  const std::optional<RuleMove> move = FindMove(evidence, node, module);
  if (!move) return;
  winner->wins = false;
  explanation.claims.push_back({.rung = std::string(kRuleRung.name),
                                .module = evidence.modules.Path(move->module),
                                .confidence = Confidence::kCertain,
                                .source = Source::kRule,
                                .because = move->rule->because,
                                .wins = true});
}

}  // namespace

Explanation Explain(const Model& model, const MappingOptions& options,
                    NodeId node) {
  const Strategy& strategy = FindStrategy(options.strategy);
  Evidence evidence = GatherEvidence(model, WantedBy(strategy, model, options));
  Placed placed(model.node_count());
  Explanation explanation;
  bool won = false;
  std::vector<Rung> ladder(strategy.rungs.begin(), strategy.rungs.end());
  if (evidence.rules != nullptr) ladder.insert(ladder.begin(), kRuleRung);
  for (const Rung& rung : ladder) {
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
  ExplainRules(evidence, node, explanation);
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
            : ", but several modules read it: the name may belong to an equal "
              "tensor"));
  }
}

}  // namespace onnx_tag
