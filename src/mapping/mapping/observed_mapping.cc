#include "mapping/mapping/observed_mapping.h"

#include <algorithm>
#include <utility>

#include "mapping/ladder/ladder.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kMostOthers = 3;
constexpr std::uint32_t kNone = 0xffffffff;

GatheredClaim Owned(const Claim& claim) {
  return {claim.node, claim.module, claim.confidence, claim.source,
          std::string(claim.because)};
}

}  // namespace

void ClaimGatherer::Begin(const Evidence& evidence,
                          const RuleApplication& /*rules*/) {
  evidence_ = &evidence;
  open_.resize(evidence.model.node_count());
  winner_.resize(evidence.model.node_count(), kNone);
}

void ClaimGatherer::BeforeRung(const Rung& rung, const Placed& placed) {
  for (const Claim& proposed : rung.propose(*evidence_, open_)) {
    if (proposed.module == placed[proposed.node].module) continue;
    const std::optional<Claim> claim = Admit(*evidence_, proposed);
    if (claim) others_.push_back(Owned(*claim));
  }
}

void ClaimGatherer::AfterRung(std::span<const Claim> accepted) {
  for (const Claim& claim : accepted) Win(Owned(claim));
}

void ClaimGatherer::BeforeLaws(const std::vector<LawFinding>& findings,
                               const Placed& placed) {
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
  std::stable_sort(others_.begin(), others_.end(),
                   [](const GatheredClaim& a, const GatheredClaim& b) {
                     return a.node < b.node;
                   });
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

}  // namespace onnx_tag
