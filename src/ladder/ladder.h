// Strategies as ladders of rungs, and how they are climbed.
#ifndef ONNX_TAG_LADDER_LADDER_H_
#define ONNX_TAG_LADDER_LADDER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ladder/claim.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// A pure function over the evidence: rungs, and what is left out of what they
// found.
struct Strategy {
  StrategyInfo info;
  std::vector<Rung> rungs;  // most certain first
  // Drops tags the strategy does not stand for, when classes are known.
  void (*prune)(Tagging& tagging) = nullptr;
  bool torch_nn = false;  // its tags have every class
};

std::span<const Strategy> AllStrategies();

// The table of rungs, and those of one strategy; both most certain first.
std::span<const Rung> AllRungs();
std::vector<Rung> RungsOf(StrategySet strategy);

// Leaves what a production gate may rely on: the filter of usage_based.
void PruneToUsage(Tagging& tagging);

// Which recordings the strategy works with. Throws Error(kUsage) with the
// command that records one where it cannot do without.
WantedFacts WantedBy(const Strategy& strategy, const Model& model,
                     const MappingOptions& options);

// Throws Error(kUsage), with the nearest name.
const Strategy& FindStrategy(std::string_view name);

// The claim, as far as it can be accepted: none where it leaves the function
// the node stands in, or names a module that the user's hierarchy rules out. A
// direct claim that names such a module still says what is around it.
std::optional<Claim> Admit(const Evidence& evidence, Claim claim);

// Accepts the rung's first claim on each node that is open.
void Climb(const Evidence& evidence, const Rung& rung, Placed& placed);

// What is known of a node and was not enough for a claim, for `explain`.
void DescribeEvidence(const Evidence& evidence, NodeId node,
                      std::vector<std::string>& notes);

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_LADDER_H_
