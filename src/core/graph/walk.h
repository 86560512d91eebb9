// Walks from node to node, with a bound on the edges that it looks at.
#ifndef ONNX_TAG_CORE_GRAPH_WALK_H_
#define ONNX_TAG_CORE_GRAPH_WALK_H_

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
      : model_(model), outputs_(model.Outputs(node)) {}

  class Iterator {
   public:
    Iterator(const Readers& readers, std::size_t output)
        : readers_(&readers), output_(output) {
      Enter();
    }
    NodeId operator*() const { return consumers_[at_]; }
    Iterator& operator++() {
      if (++at_ == consumers_.size()) {
        ++output_;
        Enter();
      }
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return output_ == other.output_ && at_ == other.at_;
    }

   private:
    // The first consumer from `output_` on.
    void Enter() {
      at_ = 0;
      for (; output_ < readers_->outputs_.size(); ++output_) {
        const ValueId value = readers_->outputs_[output_];
        if (value == kNo<ValueId>) continue;
        consumers_ = readers_->model_.Consumers(value);
        if (!consumers_.empty()) return;
      }
    }

    const Readers* readers_;
    std::size_t output_;
    std::size_t at_ = 0;
    std::span<const NodeId> consumers_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, outputs_.size()}; }

 private:
  const Model& model_;
  std::span<const ValueId> outputs_;
};

// The producers of the node's inputs, input by input. With `data`: of those
// inputs that are data.
class Makers {
 public:
  Makers(const Model& model, NodeId node, const DataValues* data = nullptr)
      : model_(model), data_(data), inputs_(model.Inputs(node)) {}

  class Iterator {
   public:
    Iterator(const Makers& makers, std::size_t input)
        : makers_(&makers), input_(input) {
      Enter();
    }
    NodeId operator*() const { return maker_; }
    Iterator& operator++() {
      ++input_;
      Enter();
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return input_ == other.input_;
    }

   private:
    void Enter() {
      for (; input_ < makers_->inputs_.size(); ++input_) {
        const ValueId value = makers_->inputs_[input_];
        if (value == kNo<ValueId> ||
            (makers_->data_ != nullptr && !makers_->data_->Contains(value))) {
          continue;
        }
        maker_ = makers_->model_.Producer(value);
        if (maker_ != kNo<NodeId>) return;
      }
    }

    const Makers* makers_;
    std::size_t input_;
    NodeId maker_ = kNo<NodeId>;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, inputs_.size()}; }

 private:
  const Model& model_;
  const DataValues* data_;
  std::span<const ValueId> inputs_;
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

#endif  // ONNX_TAG_CORE_GRAPH_WALK_H_
