// In which order nodes run.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// Depth first from `starts`, each item behind what it reads, the reads in their
// order. `reads_of(id)` is a list, and `maker_of(read)` the item that makes an
// element of it, or kNo. Items that no start reaches are left out. A cycle,
// which no valid file has, is cut.
template <typename Id, typename ReadsOf, typename MakerOf>
std::vector<Id> DepthFirst(std::size_t count, std::span<const Id> starts,
                           const ReadsOf& reads_of, const MakerOf& maker_of) {
  IdVector<Id, bool> seen(count, false);
  std::vector<Id> order;
  order.reserve(count);
  std::vector<std::pair<Id, std::size_t>> open;  // with the next read
  const auto enter = [&](Id id) {
    if (id == kNo<Id> || seen[id]) return;
    seen[id] = true;
    open.emplace_back(id, 0);
  };
  for (const Id start : starts) {
    enter(start);
    while (!open.empty()) {
      auto& [id, next] = open.back();
      const auto& reads = reads_of(id);
      if (next < reads.size()) {
        enter(maker_of(reads[next++]));
        continue;
      }
      order.push_back(id);
      open.pop_back();
    }
  }
  return order;
}

// The nodes of a graph, each behind those whose results it or its subgraphs
// read: the order of the file, unless the file is not sorted.
std::vector<NodeId> ExecutionOrder(const Model& model, GraphId graph);

// The same as a program runs them that asks for its outputs: the output with
// the longest way first. Optimizers and quantizers sort nodes anew, so that
// those of one module do not stand together any more; in this order they do
// again.
std::vector<NodeId> DepthFirstOrder(const Model& model, GraphId graph);

// All nodes of the model, each behind those whose results it reads itself.
std::vector<NodeId> ExecutionOrder(const Model& model);

}  // namespace onnx_tag
