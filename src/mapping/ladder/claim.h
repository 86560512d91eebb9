// What a rung of inference is: a function from evidence and accepted tags to
// claims on open nodes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mapping/evidence/evidence.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The tags accepted before a rung started.
using Placed = IdVector<NodeId, Tag>;

// Proposes modules for nodes that `placed` leaves open. It is a pure function:
// the caller decides what to accept, and the first claim on a node wins.
using RungFunction = std::vector<Claim>(const Evidence& evidence,
                                        const Placed& placed);

// Whether its parameter gives the node its module. The file names the
// parameter, or the hierarchy does.
inline bool IsPlacedByParameter(const Evidence& evidence, const Placed& placed,
                                NodeId node) {
  const Tag& tag = placed[node];
  return tag.tagged() && (tag.source == Source::kParameter ||
                          (tag.source == Source::kHierarchy &&
                           evidence.Proves(evidence.model, node, tag.module)));
}

// The strategies that use a rung, as a set.
enum StrategySet : std::uint8_t {
  kEnhancedSemantic = 1,  // and universal
  kUsageBased = 2,
  kHtp = 4,
  kFxGraph = 8,
  // Of a transfer: what belongs to nodes with a counterpart, and the rest.
  kInserted = 16,
  kNearby = 32,
};
constexpr unsigned kInference = kEnhancedSemantic;
constexpr unsigned kDirect = kInference | kUsageBased;
constexpr unsigned kMatching = kHtp | kFxGraph;
constexpr unsigned kAllStrategies = kDirect | kMatching;

// The parts of the evidence that a rung reads, as a set. The graph, the modules
// and the tags accepted so far are open to every rung.
enum EvidenceParts : std::uint16_t {
  kReadsNames = 1,  // scopes, and names of other producers
  kReadsFunctions = 2,
  kReadsParameters = 4,
  kReadsRecordings = 8,
  kReadsHierarchy = 16,
  kReadsRecipes = 32,
  kReadsExporter = 64,
};
constexpr std::array<std::string_view, 7> kEvidencePartNames = {
    "names",     "functions", "parameters", "recordings",
    "hierarchy", "recipes",   "exporter"};

struct Rung {
  std::string_view name;
  std::string_view help;
  RungFunction* propose;
  unsigned strategies = 0;
  // Tests hide the other parts: the claims must be the same.
  unsigned reads = 0;
  // The highest level of its claims.
  Confidence highest = Confidence::kLow;
  EvidenceKind kind = EvidenceKind::kPattern;
  // What a tool made for a node has the kind of that node.
  bool serves_nodes = false;
  WriterId id = WriterId::kFirstRung;  // of its clues

  // Its claims on open nodes. A claim above `highest` is an error in the rung:
  // a debug build stops, others lower the claim.
  std::vector<Claim> Propose(const Evidence& evidence,
                             const Placed& placed) const;
};

}  // namespace onnx_tag
