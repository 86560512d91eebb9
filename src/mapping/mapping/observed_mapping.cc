#include "mapping/mapping/observed_mapping.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/lists.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/clue_laws.h"
#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "mapping/placing/placing.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kMostOthers = 3;
constexpr std::uint32_t kNone = 0xffffffff;

GatheredClaim Owned(const Claim& claim) {
  return {claim.node, claim.module, claim.confidence, claim.source,
          std::string(claim.because)};
}

ExplainedClaim Explained(const ModuleTree& modules, std::string_view rung,
                         const Claim& claim) {
  return {.rung = std::string(rung),
          .module = modules.Path(claim.module),
          .confidence = claim.confidence,
          .source = claim.source,
          .because = std::string(claim.because)};
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
                                .wins = true,
                                .choices = {}});
}

// Collects the clues about one node.
class NodeExplainer : public MappingObserver {
 public:
  // `all`: each rung of inference runs as if the node were open.
  NodeExplainer(const MappingOptions& options, NodeId node, bool all)
      : options_(options), node_(node), all_(all) {}

  void Begin(const Evidence& evidence, const RuleApplication& rules) override {
    evidence_ = &evidence;
    rules_ = &rules;
  }

  void BeforeRung(const Rung& rung, const Placed& placed) override {
    const bool asks =
        rung.name == kPlacementRung && (all_ || !placed[node_].tagged());
    if (!all_ && !asks) return;
    Placed open = placed;
    open[node_] = Tag();
    if (asks) answer_ = placing::Ask(*evidence_, open, node_);
    if (!all_) return;
    for (const Claim& proposed : rung.Propose(*evidence_, open)) {
      if (proposed.node != node_) continue;
      const std::optional<Claim> admitted = Admit(*evidence_, proposed);
      if (!admitted) continue;
      inferred_.emplace_back(rung.id, Explained(rung.name, *admitted));
      break;
    }
  }

  void BeforeLaws(const Clues& clues, const std::vector<LawFinding>& findings,
                  const Placed& placed) override {
    ListClues(clues);
    for (const LawFinding& finding : findings) {
      if (finding.node == node_) ExplainLaw(finding, placed[node_]);
    }
    ExplainRules(*evidence_, *rules_, node_, explanation_);
    DescribeEvidence(*evidence_, node_, explanation_.notes);
  }

  void AfterClasses(const std::vector<LawFinding>& findings,
                    const Tagging& tagging) override {
    for (const LawFinding& finding : findings) {
      if (finding.node != node_) continue;
      const Tag& tag = tagging.tags[node_];
      const std::string text = LawText(finding, tagging.modules, tag);
      Win(onnx_tag::Explained(
              tagging.modules, "law",
              {node_, tag.module, Confidence::kMedium, tag.source, text}),
          Confidence::kMedium >= options_.min_confidence);
    }
  }

  void AfterFound(std::span<const Claim> claims,
                  const ModuleTree& modules) override {
    for (const Claim& claim : claims) {
      if (claim.node != node_) continue;
      Win(onnx_tag::Explained(modules, "structure", claim));
    }
  }

  Explanation Take() { return std::move(explanation_); }

 private:
  ExplainedClaim Explained(std::string_view writer, const Claim& claim) const {
    return onnx_tag::Explained(evidence_->modules, writer, claim);
  }

  // What is around the node, and what else the network thinks of.
  void ExplainPlacement(ExplainedClaim& claim) const {
    if (answer_.best.empty()) return;
    const ModuleTree& modules = evidence_->modules;
    claim.because = placing::TextOf(answer_, modules);
    for (const placing::Choice& choice : answer_.best) {
      claim.choices.push_back({modules.Path(choice.module), choice.permille});
    }
  }

  // The strongest clue wins, and none other if it is too weak.
  void ListClues(const Clues& clues) {
    std::vector<ExplainedClaim>& claims = explanation_.claims;
    WriterId winner = WriterId::kRule;
    for (const Clue& clue : clues.Of(node_)) {
      if (claims.empty()) winner = clue.from;
      claims.push_back(Explained(WriterName(clue.from), clues.AsClaim(clue)));
    }
    for (auto& [rung, claim] : inferred_) {
      if (rung != winner) claims.push_back(std::move(claim));
    }
    for (ExplainedClaim& claim : claims) {
      if (claim.rung == kPlacementRung) ExplainPlacement(claim);
    }
    if (!claims.empty()) {
      claims[0].wins = claims[0].confidence >= options_.min_confidence;
    }
  }

  // The claim replaces the winner.
  void Win(ExplainedClaim claim, bool wins = true) {
    for (ExplainedClaim& other : explanation_.claims) other.wins = false;
    claim.wins = wins;
    explanation_.claims.push_back(std::move(claim));
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
    const Tag& tag = after[node_];
    Win(Explained("law", {node_, tag.module, tag.confidence, tag.source, text}),
        tag.confidence >= options_.min_confidence);
  }

  const MappingOptions& options_;
  const NodeId node_;
  const bool all_;
  const Evidence* evidence_ = nullptr;
  const RuleApplication* rules_ = nullptr;
  std::vector<std::pair<WriterId, ExplainedClaim>> inferred_;
  placing::Answer answer_;
  Explanation explanation_;
};

}  // namespace

void ClaimGatherer::Begin(const Evidence& evidence,
                          const RuleApplication& /*rules*/) {
  evidence_ = &evidence;
  winner_.resize(evidence.model.node_count(), kNone);
}

void ClaimGatherer::BeforeLaws(const Clues& clues,
                               const std::vector<LawFinding>& findings,
                               const Placed& placed) {
  for (const Clue& clue : clues.Sorted()) {
    if (winner_[clue.node] == kNone) {
      Win(Owned(clues.AsClaim(clue)));
    } else if (clue.module != placed[clue.node].module) {
      others_.push_back(Owned(clues.AsClaim(clue)));
    }
  }
  Placed after = placed;
  ObeyLaws(findings, after);
  for (const LawFinding& finding : findings) {
    if (!finding.is_breach()) continue;
    const NodeId node = finding.node;
    const Tag& tag = after[node];
    Replace(node, tag.module, tag.confidence, tag.source,
            LawText(finding, evidence_->modules, placed[node]));
  }
}

void ClaimGatherer::AfterMove(const RuleMove& move, ModuleId module) {
  Replace(move.node, module, Confidence::kCertain, Source::kRule,
          std::string(move.because));
}

void ClaimGatherer::AfterClasses(const std::vector<LawFinding>& findings,
                                 const Tagging& tagging) {
  for (const LawFinding& finding : findings) {
    const Tag& tag = tagging.tags[finding.node];
    Replace(finding.node, tag.module, Confidence::kMedium, tag.source,
            LawText(finding, tagging.modules, tag));
  }
}

void ClaimGatherer::AfterFound(std::span<const Claim> claims,
                               const ModuleTree& /*modules*/) {
  for (const Claim& claim : claims) {
    if (winner_[claim.node] == kNone) {
      Win(Owned(claim));
    } else {
      Replace(claim.node, claim.module, claim.confidence, claim.source,
              std::string(claim.because));
    }
  }
}

void ClaimGatherer::AfterOrder(const ModuleIds& new_ids) {
  for (GatheredClaim& claim : winners_) claim.module = new_ids[claim.module];
  for (GatheredClaim& claim : others_) claim.module = new_ids[claim.module];
}

void ClaimGatherer::Win(GatheredClaim claim) {
  winner_[claim.node] = static_cast<std::uint32_t>(winners_.size());
  winners_.push_back(std::move(claim));
}

void ClaimGatherer::Replace(NodeId node, ModuleId module, Confidence confidence,
                            Source source, std::string because) {
  others_.push_back(std::move(winners_[winner_[node]]));
  winners_[winner_[node]] = {node, module, confidence, source,
                             std::move(because)};
}

GatheredClaims ClaimGatherer::Take() {
  GatheredClaims gathered;
  SortBy(others_, &GatheredClaim::node);
  for (GatheredClaim& claim : others_) {
    const std::uint32_t winner = winner_[claim.node];
    if (winner != kNone && winners_[winner].module == claim.module) continue;
    std::vector<GatheredClaim>& kept = gathered.others;
    std::size_t same_node = 0;
    bool known = false;
    for (std::size_t i = kept.size(); i-- > 0 && kept[i].node == claim.node;) {
      ++same_node;
      known = known || kept[i].module == claim.module;
    }
    if (!known && same_node < kMostOthers) kept.push_back(std::move(claim));
  }
  for (const std::uint32_t winner : winner_) {
    if (winner != kNone) {
      gathered.winners.push_back(std::move(winners_[winner]));
    }
  }
  return gathered;
}

Explanation Explain(const Model& model, const MappingOptions& options,
                    const MappingFacts& facts, NodeId node, bool all) {
  return MapAndExplain(model, options, facts, node, all).explanation;
}

ExplainedMapping MapAndExplain(const Model& model,
                               const MappingOptions& options,
                               const MappingFacts& facts, NodeId node,
                               bool all) {
  NodeExplainer explainer(options, node, all);
  Tagging tagging = MapNodes(model, options, facts, &explainer);
  return {std::move(tagging), explainer.Take()};
}

void DescribeEvidence(const Evidence& evidence, NodeId node,
                      std::vector<std::string>& notes) {
  const ScopeId scope = evidence.node_scope[node];
  if (scope != kNo<ScopeId>) {
    notes.push_back(fmt::format("the scope in its name is /{}",
                                evidence.scopes[scope].text));
  }
  for (const Parameter& parameter :
       evidence.Among(evidence.model.Inputs(node))) {
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
