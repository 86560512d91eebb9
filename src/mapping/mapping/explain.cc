// Collects the claims of all rungs for one node. Each rung runs as if the node
// were open.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/ladder.h"
#include "mapping/mapping/observed_mapping.h"

namespace onnx_tag {

namespace {

ExplainedClaim Explained(const ModuleTree& modules, std::string_view rung,
                         const Claim& claim, bool wins) {
  return {.rung = std::string(rung),
          .module = modules.Path(claim.module),
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
  for (std::string& note : rules.Describe(evidence, node, module)) {
    explanation.notes.push_back(std::move(note));
  }
  const std::optional<RuleMove> move = rules.FindMove(evidence, node, module);
  if (!move) return;
  winner->wins = false;
  explanation.claims.push_back({.rung = "rule",
                                .module = move->module,
                                .confidence = Confidence::kCertain,
                                .source = Source::kRule,
                                .because = std::string(move->because),
                                .wins = true});
}

// Collects the claims of each rung for one node.
class NodeExplainer : public MappingObserver {
 public:
  NodeExplainer(const MappingOptions& options, NodeId node)
      : options_(options), node_(node) {}

  void Begin(const Evidence& evidence, const RuleApplication& rules) override {
    evidence_ = &evidence;
    rules_ = &rules;
  }

  void BeforeRung(const Rung& rung, const Placed& placed) override {
    Placed open = placed;
    open[node_] = Tag();
    for (const Claim& proposed : rung.propose(*evidence_, open)) {
      if (proposed.node != node_) continue;
      const std::optional<Claim> admitted = Admit(*evidence_, proposed);
      if (!admitted) continue;
      Add(rung.name, *admitted);
      break;
    }
  }

  void AfterRung(std::span<const Claim> /*accepted*/) override {}

  void BeforeLaws(const std::vector<LawFinding>& findings,
                  const Placed& placed) override {
    for (const LawFinding& finding : findings) {
      if (finding.node == node_) ExplainLaw(finding, placed[node_]);
    }
    ExplainRules(*evidence_, *rules_, node_, explanation_);
    DescribeEvidence(*evidence_, node_, explanation_.notes);
  }

  // ExplainRules has said it, before the evidence went.
  void AfterMove(const RuleMove& /*move*/, ModuleId /*module*/) override {}

  void AfterFound(std::span<const Claim> claims,
                  const ModuleTree& modules) override {
    for (const Claim& claim : claims) {
      if (claim.node != node_) continue;
      for (ExplainedClaim& other : explanation_.claims) other.wins = false;
      explanation_.claims.push_back(
          Explained(modules, "structure", claim, true));
    }
  }

  Explanation Take() { return std::move(explanation_); }

 private:
  void Add(std::string_view rung, const Claim& claim) {
    explanation_.claims.push_back(
        Explained(evidence_->modules, rung, claim,
                  !won_ && claim.confidence >= options_.min_confidence));
    won_ = true;
  }

  // The winner has lost its level, or to the owner of a parameter.
  void ExplainLaw(const LawFinding& finding, const Tag& before) {
    const std::string text = LawText(finding, evidence_->modules, before);
    if (!finding.is_breach()) {
      explanation_.notes.push_back(fmt::format(
          "{}; this proves nothing ({})", text,
          kExemptionNames[static_cast<std::size_t>(finding.exemption)]));
      return;
    }
    Placed after(evidence_->model.node_count());
    after[node_] = before;
    ObeyLaws({finding}, after);
    for (ExplainedClaim& claim : explanation_.claims) claim.wins = false;
    const Tag& tag = after[node_];
    explanation_.claims.push_back(
        {.rung = "law",
         .module = evidence_->modules.Path(tag.module),
         .confidence = tag.confidence,
         .source = tag.source,
         .because = text,
         .wins = tag.confidence >= options_.min_confidence});
  }

  const MappingOptions& options_;
  const NodeId node_;
  const Evidence* evidence_ = nullptr;
  const RuleApplication* rules_ = nullptr;
  Explanation explanation_;
  bool won_ = false;
};

}  // namespace

Explanation Explain(const Model& model, const MappingOptions& options,
                    const MappingFacts& facts, NodeId node) {
  return MapAndExplain(model, options, facts, node).explanation;
}

ExplainedMapping MapAndExplain(const Model& model,
                               const MappingOptions& options,
                               const MappingFacts& facts, NodeId node) {
  NodeExplainer explainer(options, node);
  ExplainedMapping result;
  result.tagging = MapNodes(model, options, facts, &explainer);
  result.explanation = explainer.Take();
  return result;
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
    if (parameter.from_hierarchy) {
      notes.push_back(fmt::format("it reads {}, as the hierarchy calls it",
                                  parameter.name));
      continue;
    }
    if (hierarchy::IsFoldedBias(parameter.name)) {
      notes.push_back(
          fmt::format("it reads {}: the exporter folded a normalization into "
                      "the layer and kept the result under this name",
                      parameter.name));
      continue;
    }
    notes.push_back(fmt::format(
        "it reads the parameter {}{}", parameter.name,
        parameter.trusted
            ? ""
            : ", but several modules read it: the name may belong to an equal "
              "tensor"));
  }
}

}  // namespace onnx_tag
