// What a placer sees of a file: a function that finds modules for the nodes
// about which no source of knowledge has written.
//
// It decides nothing: the laws of clues (clue_laws.h) see every claim, and the
// first one on a node that they leave becomes the node's clue.
#pragma once

#include "mapping/clues/clues.h"

namespace onnx_tag {

class GraphFacts;     // core/graph/graph_facts.h
struct KnownModules;  // mapping/evidence/evidence.h

struct OpenFile {
  const GraphFacts& graph;
  // All modules that names, parameters or a map give. A placer adds none.
  const ModuleTree& modules;
  const KnownModules& known;  // known.map is null without a hierarchy
  // By node: the accepted module with its level; !tagged(): the node is open.
  const IdVector<NodeId, Tag>& accepted;
};

// Claims on open nodes; claims on others are ignored.
using Placer = Claims(const OpenFile& file);

}  // namespace onnx_tag
