// Finds a module that certainly contains a node without a name.
//
// Two facts hold for any architecture. A module that is called once takes its
// inputs before it gives its outputs. So a node on a data path between two
// nodes of the module is in the module. And the layers of a list have equal
// ends: nodes that follow the last named node of every layer belong to the
// layer.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/ladder/rungs/rung_base.h"

namespace onnx_tag {

// In which order the nodes of a model ran.
struct RunOrder {
  std::vector<NodeId> nodes;             // of the main graph
  IdVector<NodeId, std::uint32_t> rank;  // of all nodes
  bool as_written = true;                // the file's order
};

// By node: the deepest module that certainly contains it; kNo: nothing is
// known.
struct Bounds {
  // The deeper of two answers is used.
  void PutInside(const ModuleTree& tree, NodeId node, ModuleId module) {
    ModuleId& known = inside[node];
    if (known == kNo<ModuleId> || tree.IsAncestor(known, module)) {
      known = module;
    }
  }

  RunOrder order;
  IdVector<NodeId, ModuleId> inside;
};

Bounds FindBounds(const Evidence& evidence, const Placed& placed);

// What every way to find bounds reads and writes.
class BoundsFinder : protected RungBase {
 public:
  BoundsFinder(const Evidence& evidence, const Placed& placed, Bounds& bounds)
      : RungBase(evidence, placed), bounds_(bounds) {}

 protected:
  // By module: the known nodes of it and of the modules in it, as they ran.
  using NamedNodes = IdVector<ModuleId, std::vector<NodeId>>;
  NamedNodes FindNamed() const;

  void PutInside(NodeId node, ModuleId module) {
    bounds_.PutInside(tree_, node, module);
  }

  Bounds& bounds_;
};

// The ways, each in its own file but for the dataflow: the deepest module that
// has a node upstream and a node downstream.

// What lies inside a call of a module: its named nodes, and around them as many
// as make the fewest values cross its border.
//
// A module takes a few values and gives a few. A cell whose gates nobody names
// hands out four of them where its border is drawn behind its convolution, and
// one where it is drawn behind the gates. Of equal borders the inner one is
// taken: nothing is claimed that the flow of data does not ask for.
void BoundByRegions(const BoundsFinder& finder);

// What is known of one layer of a list is known of its twins: the nodes that
// stand in the same place and do the same.
void BoundByLikeness(const BoundsFinder& finder);

}  // namespace onnx_tag
