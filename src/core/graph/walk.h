// Walks from node to node, with a bound on the edges that it looks at.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/graph/data_values.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// The nodes that read an output of `node`, output by output:
//
//   for (const NodeId reader : Readers(model, node)) ...
//
// A reader of two outputs comes twice.
class Readers {
 public:
  Readers(const Model& model, NodeId node)
      : model_(model), outputs_(model.Outputs(node)) {
    Skip();
  }
  Readers begin() const { return *this; }
  EndOfRange end() const { return {}; }
  bool operator==(EndOfRange) const { return readers_.empty(); }
  NodeId operator*() const { return readers_.front(); }
  Readers& operator++() {
    readers_ = readers_.subspan(1);
    Skip();
    return *this;
  }

 private:
  // On to the next output with a reader.
  void Skip() {
    while (readers_.empty() && !outputs_.empty()) {
      const ValueId value = outputs_.front();
      outputs_ = outputs_.subspan(1);
      if (value != kNo<ValueId>) readers_ = model_.Consumers(value);
    }
  }

  const Model& model_;
  std::span<const ValueId> outputs_;
  std::span<const NodeId> readers_;
};

// The producers of the node's inputs, input by input. With `data`: of those
// inputs that are data.
class Makers {
 public:
  Makers(const Model& model, NodeId node, const DataValues* data = nullptr)
      : model_(model), data_(data), inputs_(model.Inputs(node)) {
    ++*this;
  }
  Makers begin() const { return *this; }
  EndOfRange end() const { return {}; }
  bool operator==(EndOfRange) const { return maker_ == kNo<NodeId>; }
  NodeId operator*() const { return maker_; }
  Makers& operator++() {
    maker_ = kNo<NodeId>;
    while (maker_ == kNo<NodeId> && !inputs_.empty()) {
      const ValueId value = inputs_.front();
      inputs_ = inputs_.subspan(1);
      if (value != kNo<ValueId> &&
          (data_ == nullptr || data_->Contains(value))) {
        maker_ = model_.Producer(value);
      }
    }
    return *this;
  }

 private:
  const Model& model_;
  const DataValues* data_;
  std::span<const ValueId> inputs_;
  NodeId maker_ = kNo<NodeId>;
};

// The only node that reads the value, of those for which `counts(reader)`; kNo
// if there are none or several.
template <typename Counts>
NodeId OnlyReader(const Model& model, ValueId value, const Counts& counts) {
  NodeId only = kNo<NodeId>;
  if (value == kNo<ValueId>) return only;
  for (const NodeId reader : model.Consumers(value)) {
    if (reader == only || !counts(reader)) continue;
    if (only != kNo<NodeId>) return kNo<NodeId>;
    only = reader;
  }
  return only;
}

// Calls `visit(reader)` for each of the Readers, until it returns false;
// returns whether it never did.
template <typename Visit>
bool ForEachReader(const Model& model, NodeId node, const Visit& visit) {
  for (const NodeId reader : Readers(model, node)) {
    if (!visit(reader)) return false;
  }
  return true;
}

// The same for the Makers.
template <typename Visit>
bool ForEachMaker(const Model& model, NodeId node, const Visit& visit) {
  for (const NodeId maker : Makers(model, node)) {
    if (!visit(maker)) return false;
  }
  return true;
}

// Visits the nodes that `next` reaches from `start`, each once, nearest first,
// without `start` itself. `next(node, go)` calls `go(neighbour)` for each edge
// and stops when that returns false: after `limit` edges, counted where the
// walk branches, so that a node with 10^5 readers costs no more than `limit`.
// `visit(node)` returns whether to go on from this node. Returns whether the
// limit was enough.
template <typename Next, typename Visit>
bool Walk(NodeId start, std::size_t limit, const Next& next,
          const Visit& visit) {
  std::unordered_set<NodeId> seen = {start};
  std::vector<NodeId> open = {start};
  for (std::size_t at = 0; at < open.size(); ++at) {
    bool enough = true;
    next(open[at], [&](NodeId node) {
      if (limit == 0) return enough = false;
      --limit;
      if (seen.insert(node).second && visit(node)) open.push_back(node);
      return true;
    });
    if (!enough) return false;
  }
  return true;
}

}  // namespace onnx_tag
