// Strategies as ladders of rungs, and the functions that run them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/ladder/claim.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// A pure function of the evidence: sources, rungs of inference, and a filter
// for their tags.
struct Strategy {
  StrategyInfo info;
  StrategySet set;          // of the sources that it reads
  std::vector<Rung> rungs;  // most certain first
  // Drops tags that the strategy does not allow, after classes are known.
  void (*prune)(Tagging& tagging) = nullptr;
  bool torch_nn = false;   // its tags have every class
  bool structure = false;  // may use blocks found in the graph alone
};

// The rung that asks the trained network, and whether a rung is a rule that
// this one replaces.
inline constexpr std::string_view kPlacementRung = "placement";
bool IsReplaced(std::string_view rung);

std::span<const Strategy> AllStrategies();

// The table of all rungs; and those of one strategy, in the order of the kinds
// of evidence.
std::span<const Rung> AllRungs();
std::vector<Rung> RungsOf(StrategySet strategy);

// The recordings that the strategy uses. If a required recording is missing,
// throws Error(kUsage) with the command that records one.
// `recipes`: whether the strategy may use the recipe book.
WantedFacts WantedBy(const Strategy& strategy, const Model& model, bool recipes,
                     const MappingFacts& facts);

// Throws Error(kUsage), with the nearest name.
const Strategy& FindStrategy(std::string_view name);

// Sets the node's tag to the claim, which rests on this kind of evidence.
void Accept(const Claim& claim, EvidenceKind evidence, Placed& placed);

// Accepts the rung's first claim on each open node that the laws leave, and
// returns what it accepted. `clues` gets them, too; it may be null.
std::vector<Claim> Climb(const Evidence& evidence, const Rung& rung,
                         Placed& placed, Clues* clues = nullptr);

using BeforeRung = std::function<void(const Rung& rung, const Placed& placed)>;

// Inference: each rung writes clues about the nodes that are still open.
// `before` is called before each rung; it may be empty. `placement`: the
// trained network is asked instead of the rules that it replaces.
void Infer(const Evidence& evidence, std::span<const Rung> rungs,
           Placed& placed, Clues& clues, const BeforeRung& before = {},
           bool placement = false);

// Places all nodes by the sources, then by inference. Returns the clues.
Clues PlaceAll(const Evidence& evidence, const Strategy& strategy,
               Placed& placed, const BeforeRung& before = {},
               bool placement = false);

// Describes the evidence for a node, for `explain`.
void DescribeEvidence(const Evidence& evidence, NodeId node,
                      std::vector<std::string>& notes);

// The further modules of fused nodes, by node; the module of the tag itself is
// none of them.
std::vector<Origin> FindOrigins(const Evidence& evidence, const Placed& placed);

}  // namespace onnx_tag
