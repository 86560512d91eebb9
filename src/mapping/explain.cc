// Collects the claims of all rungs for one node. Each rung runs as if the node
// were open.
#include <fmt/core.h>

#include <algorithm>

#include "ladder/ladder.h"
#include "mapping/apply_rules.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

namespace {

ExplainedClaim Explained(const Evidence& evidence, std::string_view rung,
                         const Claim& claim, bool wins) {
  return {.rung = std::string(rung),
          .module = evidence.modules.Path(claim.module),
          .confidence = claim.confidence,
          .source = claim.source,
          .because = std::string(claim.because),
          .wins = wins};
}

// Adds the rules that move the node, and the other results of rules.
void ExplainRules(const Evidence& evidence, const RuleApplication& rules,
                  NodeId node, Explanation& explanation) {
  const auto winner =
      std::find_if(explanation.claims.begin(), explanation.claims.end(),
                   [](const ExplainedClaim& claim) { return claim.wins; });
  if (winner == explanation.claims.end()) return;
  const ModuleId module = evidence.modules.Find(winner->module);
  explanation.notes = rules.Describe(evidence, node, module);
  const std::optional<RuleMove> move = rules.FindMove(evidence, node, module);
  if (!move) return;
  winner->wins = false;
  explanation.claims.push_back({.rung = "rule",
                                .module = move->module,
                                .confidence = Confidence::kCertain,
                                .source = Source::kRule,
                                .because = std::string(rules.Because(*move)),
                                .wins = true});
}

}  // namespace

Explanation Explain(const Model& model, const MappingOptions& options,
                    const MappingFacts& facts, NodeId node) {
  const Strategy& strategy = FindStrategy(options.strategy);
  Evidence gathered =
      GatherEvidence(model, WantedBy(strategy, model, options.recipes, facts));
  const RuleApplication rules(facts.rules, gathered);
  const Evidence& evidence = gathered;  // const from here on
  Placed placed(model.node_count());
  Explanation explanation;
  bool won = false;
  const auto explain = [&](std::string_view rung, const Claim& claim) {
    explanation.claims.push_back(
        Explained(evidence, rung, claim,
                  !won && claim.confidence >= options.min_confidence));
    won = true;
  };
  if (const std::optional<Claim> claim = rules.ClaimOn(node)) {
    explain("rule", *claim);
  }
  rules.Place(placed);
  for (const Rung& rung : strategy.rungs) {
    Placed open = placed;
    open[node] = Tag();
    for (const Claim& proposed : rung.propose(evidence, open)) {
      if (proposed.node != node) continue;
      const std::optional<Claim> admitted = Admit(evidence, proposed);
      if (!admitted) continue;
      explain(rung.name, *admitted);
      break;
    }
    Climb(evidence, rung, placed);
  }
  ExplainRules(evidence, rules, node, explanation);
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
