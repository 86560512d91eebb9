// Modules for the nodes that no rung placed: blocks found in the graph alone
// (clues/structure/structure.h). Their names are invented.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "clues/structure/structure.h"
#include "core/graph/graph_facts.h"
#include "mapping/ladder/claim.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct OpenNodes {
  std::vector<NodeId> nodes;
  // Of the graph, if somebody needed them already.
  std::optional<Structure> blocks;
};

// The nodes that no rung placed. If the file names nothing, all whose tags say
// nothing: those at the root (names such as w17 are parameters of the root),
// those of recipes that disagree, and those of a guess that the blocks of the
// graph contradict. Blocks contradict no recording of the very same program
// (`is_recorded`).
OpenNodes FindOpen(const GraphFacts& graph, const ModuleTree& modules,
                   const IdVector<NodeId, Tag>& tags, bool is_recorded = false);

// What the blocks of the graph (clues/structure/structure.h) say to a guess of
// the recipe book.

// All nodes if the guess tears blocks apart, has one module for several or
// puts equal blocks into different lists. Else those on the wrong side of the
// border of a block.
IdVector<NodeId, bool> FindContradicted(const GraphFacts& graph,
                                        const Structure& blocks,
                                        const ModuleTree& modules,
                                        const IdVector<NodeId, Tag>& tags);

struct FoundClaims {
  std::vector<Claim> claims;        // by node
  std::deque<std::string> reasons;  // of the claims
};

// Tags the nodes of `open`, adds the found modules to `tagging` with what is
// known of them, and returns the claims. A block that has tagged nodes is the
// module around these; other blocks are new modules, inside it if there is one.
FoundClaims PlaceFound(const GraphFacts& graph, OpenNodes open,
                       Confidence least, Tagging& tagging);

}  // namespace onnx_tag
