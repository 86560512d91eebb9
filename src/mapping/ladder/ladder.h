// Strategies as ladders of rungs, and the functions that run them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/ladder/claim.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// A pure function of the evidence: rungs, and a filter for their tags.
struct Strategy {
  StrategyInfo info;
  std::vector<Rung> rungs;  // most certain first
  // Drops tags that the strategy does not allow, after classes are known.
  void (*prune)(Tagging& tagging) = nullptr;
  bool torch_nn = false;   // its tags have every class
  bool structure = false;  // may use blocks found in the graph alone
};

std::span<const Strategy> AllStrategies();

// The table of all rungs; and the ladder of one strategy, in the order of the
// kinds of evidence. A rung with two kinds stands on it twice.
std::span<const Rung> AllRungs();
std::vector<Rung> RungsOf(StrategySet strategy);

// The recordings that the strategy uses. If a required recording is missing,
// throws Error(kUsage) with the command that records one.
// `recipes`: whether the strategy may use the recipe book.
WantedFacts WantedBy(const Strategy& strategy, const Model& model, bool recipes,
                     const MappingFacts& facts);

// Throws Error(kUsage), with the nearest name.
const Strategy& FindStrategy(std::string_view name);

// The claim, if it can be accepted. nullopt if it leaves the function that
// contains the node, or if the user's hierarchy excludes the module. A direct
// claim of an excluded module is changed to its nearest possible ancestor. The
// claim of a rule is accepted as it is.
std::optional<Claim> Admit(const Evidence& evidence, Claim claim);

// Sets the node's tag to the claim, which rests on this kind of evidence.
void Accept(const Claim& claim, EvidenceKind evidence, Placed& placed);

// Accepts the rung's first claim on each open node, and returns what it
// accepted.
std::vector<Claim> Climb(const Evidence& evidence, const Rung& rung,
                         Placed& placed);

// Describes the evidence for a node, for `explain`.
void DescribeEvidence(const Evidence& evidence, NodeId node,
                      std::vector<std::string>& notes);

// The further modules of fused nodes, by node; the module of the tag itself is
// none of them.
std::vector<Origin> FindOrigins(const Evidence& evidence, const Placed& placed);

}  // namespace onnx_tag
