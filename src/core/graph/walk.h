// Walks from node to node, with a bound on the edges that it looks at.
#ifndef ONNX_TAG_CORE_GRAPH_WALK_H_
#define ONNX_TAG_CORE_GRAPH_WALK_H_

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// Calls `visit(reader)` for each node that reads an output of `node`: a reader
// of two outputs is visited twice. Stops when `visit` returns false; returns
// whether it did not.
template <typename Visit>
bool ForEachReader(const Model& model, NodeId node, const Visit& visit) {
  for (const ValueId output : model.Outputs(node)) {
    if (output == kNo<ValueId>) continue;
    for (const NodeId reader : model.Consumers(output)) {
      if (!visit(reader)) return false;
    }
  }
  return true;
}

// Calls `visit(maker)` for the producer of each input of `node`, likewise.
template <typename Visit>
bool ForEachMaker(const Model& model, NodeId node, const Visit& visit) {
  for (const ValueId input : model.Inputs(node)) {
    if (input == kNo<ValueId>) continue;
    const NodeId maker = model.Producer(input);
    if (maker != kNo<NodeId> && !visit(maker)) return false;
  }
  return true;
}

// Visits the nodes that `next` reaches from `start`, each once, nearest first,
// without `start` itself. `next(node, go)` calls `go(neighbour)` for each edge
// and stops when that returns false: after `limit` edges, counted where the
// walk branches, so that a node with 10^5 readers costs no more than `limit`.
// `visit(node)` returns whether to go on from this node.
template <typename Next, typename Visit>
void Walk(NodeId start, std::size_t limit, const Next& next,
          const Visit& visit) {
  std::unordered_set<NodeId> seen = {start};
  std::vector<NodeId> open = {start};
  for (std::size_t at = 0; at < open.size(); ++at) {
    next(open[at], [&](NodeId node) {
      if (limit == 0) return false;
      --limit;
      if (seen.insert(node).second && visit(node)) open.push_back(node);
      return true;
    });
    if (limit == 0) return;
  }
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_GRAPH_WALK_H_
