#include "mapping/clues/clues.h"

#include <algorithm>

#include "base/lists.h"

namespace onnx_tag {

ReasonId Clues::Intern(std::string_view reason) {
  // Most clues have the reason of the one before.
  if (!clues_.empty() && *reasons_[clues_.back().why] == reason) {
    return clues_.back().why;
  }
  const auto [at, is_new] =
      ids_.try_emplace(std::string(reason), MakeId<ReasonId>(reasons_.size()));
  if (is_new) reasons_.Add(&at->first);
  return at->second;
}

void Clues::Add(WriterId from, EvidenceKind kind, const Claim& claim) {
  clues_.push_back({claim.node, claim.module, Intern(claim.because), kind,
                    claim.confidence, claim.source, from});
  if (strongest_.empty()) return;
  std::uint32_t& strongest = strongest_[claim.node];
  if (strongest == kNobody || kind < clues_[strongest].kind) {
    strongest = static_cast<std::uint32_t>(clues_.size() - 1);
  }
}

std::vector<Clue> Clues::Of(NodeId node) const {
  std::vector<Clue> clues;
  for (const Clue& clue : clues_) {
    if (clue.node == node) clues.push_back(clue);
  }
  SortBy(clues, &Clue::kind);
  return clues;
}

std::vector<Clue> Clues::Sorted() const {
  std::vector<Clue> clues = clues_;
  SortBy(clues,
         [](const Clue& clue) { return std::pair(clue.node, clue.kind); });
  return clues;
}

}  // namespace onnx_tag
