// Finds a module that certainly contains a node without a name.
//
// Two facts hold for any architecture. A module that is called once takes its
// inputs before it gives its outputs. So a node on a data path between two
// nodes of the module is in the module. And the layers of a list have equal
// ends: nodes that follow the last named node of every layer belong to the
// layer.
#ifndef ONNX_TAG_MAPPING_LADDER_RUNGS_LAYER_BOUNDS_H_
#define ONNX_TAG_MAPPING_LADDER_RUNGS_LAYER_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "core/graph/data_values.h"
#include "mapping/ladder/claim.h"

namespace onnx_tag {

// In which order the nodes of a model ran.
struct RunOrder {
  std::vector<NodeId> nodes;             // of the main graph
  IdVector<NodeId, std::uint32_t> rank;  // of all nodes
  bool as_written = true;                // the file's order
};

// The file's order, or depth first from the outputs, where that keeps the named
// nodes of modules together and the file does not: tools sort nodes anew.
RunOrder FindRunOrder(const Evidence& evidence, const Placed& placed,
                      const DataValues& data);

// By node; kNo: nothing is known.
struct Bounds {
  explicit Bounds(std::size_t nodes)
      : inside(nodes, kNo<ModuleId>), ends(nodes, kNo<ModuleId>) {}

  // The deeper of two answers is used.
  void PutInside(const ModuleTree& tree, NodeId node, ModuleId module) {
    ModuleId& known = inside[node];
    if (known == kNo<ModuleId> || tree.IsAncestor(known, module)) {
      known = module;
    }
  }

  RunOrder order;
  IdVector<NodeId, ModuleId> inside;  // the deepest module known
  // The layer whose end it is part of; later nodes are outside.
  IdVector<NodeId, ModuleId> ends;
};

// Whether it is placed by other evidence than its neighbours.
inline bool IsKnown(const Tag& tag) {
  return tag.tagged() && tag.confidence > Confidence::kLow;
}

// What every way to find bounds reads and writes.
class BoundsFinder {
 public:
  BoundsFinder(const Evidence& evidence, const Placed& placed,
               const DataValues& data, Bounds& bounds)
      : evidence_(evidence),
        model_(evidence.model),
        tree_(evidence.modules),
        placed_(placed),
        data_(data),
        bounds_(bounds) {}

 protected:
  const Evidence& evidence_;
  const Model& model_;
  const ModuleTree& tree_;
  const Placed& placed_;
  const DataValues& data_;
  Bounds& bounds_;
};

// Uses the ends of equal layers.
void BoundByTwins(const BoundsFinder& finder);

// Uses the dataflow: the deepest module that has a node upstream and a node
// downstream.
void BoundByFlow(const BoundsFinder& finder);

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

// Uses all of them; the deeper of two answers is used.
Bounds FindBounds(const Evidence& evidence, const Placed& placed,
                  const DataValues& data);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_LADDER_RUNGS_LAYER_BOUNDS_H_
