#include "mapping/explain_all.h"

#include <algorithm>
#include <utility>

#include "ladder/ladder.h"
#include "mapping/apply_rules.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kMostOthers = 3;

// What the rungs said, rung by rung.
class Gathering {
 public:
  Gathering(const Model& model, const Evidence& evidence)
      : evidence_(evidence),
        placed_(model.node_count()),
        open_(model.node_count()),
        winner_(model.node_count(), kNone) {}

  // Takes the claim where the node is still open.
  void Accept(const Claim& claim) {
    Tag& tag = placed_[claim.node];
    if (tag.tagged()) return;
    tag.module = claim.module;
    tag.confidence = claim.confidence;
    tag.source = claim.source;
    winner_[claim.node] = static_cast<std::uint32_t>(claims_.size());
    claims_.push_back(Owned(claim));
  }

  void Climb(const Rung& rung) {
    for (const Claim& proposed : rung.propose(evidence_, placed_)) {
      if (placed_[proposed.node].tagged()) continue;
      const std::optional<Claim> claim = Admit(evidence_, proposed);
      if (claim) Accept(*claim);
    }
    for (const Claim& proposed : rung.propose(evidence_, open_)) {
      if (proposed.module == placed_[proposed.node].module) continue;
      const std::optional<Claim> claim = Admit(evidence_, proposed);
      if (claim) others_.push_back(Owned(*claim));
    }
  }

  GatheredClaims Take() {
    GatheredClaims gathered;
    gathered.modules = evidence_.modules;
    for (const std::uint32_t winner : winner_) {
      if (winner != kNone) {
        gathered.winners.push_back(std::move(claims_[winner]));
      }
    }
    std::stable_sort(others_.begin(), others_.end(),
                     [](const GatheredClaim& a, const GatheredClaim& b) {
                       return a.node < b.node;
                     });
    for (GatheredClaim& claim : others_) {
      if (claim.module == placed_[claim.node].module) continue;
      std::vector<GatheredClaim>& kept = gathered.others;
      std::size_t same_node = 0;
      bool known = false;
      for (std::size_t i = kept.size();
           i-- > 0 && kept[i].node == claim.node;) {
        ++same_node;
        known = known || kept[i].module == claim.module;
      }
      if (!known && same_node < kMostOthers) kept.push_back(std::move(claim));
    }
    return gathered;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  static GatheredClaim Owned(const Claim& claim) {
    return {claim.node, claim.module, claim.confidence, claim.source,
            std::string(claim.because)};
  }

  const Evidence& evidence_;
  Placed placed_;
  const Placed open_;
  IdVector<NodeId, std::uint32_t> winner_;  // index in claims_
  std::vector<GatheredClaim> claims_;
  std::vector<GatheredClaim> others_;
};

}  // namespace

GatheredClaims ExplainAll(const Model& model, const MappingOptions& options,
                          const MappingFacts& facts) {
  const Strategy& strategy = FindStrategy(options.strategy);
  Evidence evidence =
      GatherEvidence(model, WantedBy(strategy, model, options.recipes, facts));
  const RuleApplication rules(facts.rules, evidence);
  Gathering gathering(model, evidence);
  for (const NodeId node : model.Nodes()) {
    if (const std::optional<Claim> claim = rules.ClaimOn(node)) {
      gathering.Accept(*claim);
    }
  }
  for (const Rung& rung : strategy.rungs) gathering.Climb(rung);
  return gathering.Take();
}

}  // namespace onnx_tag
