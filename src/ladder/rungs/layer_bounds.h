// What a node that nothing names lies inside of, at least.
//
// Two facts hold whatever an architecture is called. A module that is called
// once takes its inputs first and gives its outputs last: what lies on a way
// from one of its nodes to another of its nodes lies in it. And the layers of a
// list end alike: what follows the last named node of every layer, of the last
// one, too, is the layer's own.
#ifndef ONNX_TAG_LADDER_RUNGS_LAYER_BOUNDS_H_
#define ONNX_TAG_LADDER_RUNGS_LAYER_BOUNDS_H_

#include "graph/data_values.h"
#include "ladder/claim.h"
#include "ladder/rungs/run_order.h"

namespace onnx_tag {

// By node; kNo: nothing is known.
struct Bounds {
  explicit Bounds(std::size_t nodes)
      : inside(nodes, kNo<ModuleId>), ends(nodes, kNo<ModuleId>) {}

  // Of two answers the deeper counts.
  void PutInside(const ModuleTree& tree, NodeId node, ModuleId module) {
    ModuleId& known = inside[node];
    if (known == kNo<ModuleId> || tree.IsAncestor(known, module)) {
      known = module;
    }
  }

  RunOrder order;
  IdVector<NodeId, ModuleId> inside;  // the deepest module known
  // The layer whose end it is part of: what follows is outside.
  IdVector<NodeId, ModuleId> ends;
};

// Whether it is placed by more than what stands around it.
inline bool IsKnown(const Tag& tag) {
  return tag.tagged() && tag.confidence > Confidence::kLow;
}

// From the ends of twin layers.
void BoundByTwins(const Evidence& evidence, const Placed& placed,
                  const DataValues& data, Bounds& bounds);

// From the flow of data: the deepest module that has a node before and a node
// behind.
void BoundByFlow(const Evidence& evidence, const Placed& placed,
                 const DataValues& data, Bounds& bounds);

// From both; of two answers the deeper.
Bounds FindBounds(const Evidence& evidence, const Placed& placed,
                  const DataValues& data);

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_RUNGS_LAYER_BOUNDS_H_
