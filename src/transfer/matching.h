// Which node and which value of the old version each one of the new version
// is.
//
// Pairs are never taken back, so what is surer must come first: names, then
// what lies upstream of a pair (a value has one producer, and inputs have an
// order), then what lies downstream, where several nodes may read a value.
#ifndef ONNX_TAG_TRANSFER_MATCHING_H_
#define ONNX_TAG_TRANSFER_MATCHING_H_

#include <deque>
#include <utility>
#include <vector>

#include "onnx_tag/tagging.h"
#include "transfer/outline.h"

namespace onnx_tag::transfer {

// How a pair was found, weakest first.
enum class Bond : std::uint8_t {
  kNone,
  kThrough,    // by structure, past a node that one version has alone
  kStructure,  // by structure
  kName,       // by a name that says who it is
};

class Matching {
 public:
  // All must outlive it.
  Matching(const Outline& from, const Outline& to, const Texts& texts)
      : from_(from),
        to_(to),
        texts_(texts),
        nodes_(to.node_count()),
        values_(to.value_count()),
        taken_(from.node_count(), false),
        value_taken_(from.value_count(), false) {}

  // Each does nothing where the new one has its counterpart already.
  void PairNodes(NodeId to, NodeId from, Bond bond);
  void PairValues(ValueId to, ValueId from, Bond bond);
  void PairGraphs(GraphId to, GraphId from, Bond bond);

  // Follows all pairs upstream, until nothing is new.
  void FollowUpstream();
  // And downstream; whatever is found is followed upstream at once.
  void FollowDownstream();
  // A parameter that several calls of one module read: the first call is the
  // first in both versions. Returns whether anything was found.
  bool PairCalls();

  NodeId Of(NodeId to) const { return nodes_[to].from; }
  ValueId Of(ValueId to) const { return values_[to].from; }
  Bond BondOf(NodeId to) const { return nodes_[to].bond; }
  // Whether some node (value) of the new version has this counterpart.
  bool Taken(NodeId from) const { return taken_[from]; }
  bool Taken(ValueId from) const { return value_taken_[from]; }
  // Subgraphs paired since the last call, for those who know their names.
  bool HasGraphs() const { return !graphs_.empty(); }
  std::vector<std::pair<GraphId, GraphId>> TakeGraphs() {
    return std::exchange(graphs_, {});
  }

  const Outline& from() const { return from_; }
  const Outline& to() const { return to_; }
  const Texts& texts() const { return texts_; }

 private:
  template <typename Id>
  struct Pair {
    Id from = kNo<Id>;
    Bond bond = Bond::kNone;
  };

  void PairInputs(NodeId to, NodeId from, Bond bond);
  bool InputsAreSwapped(NodeId to, NodeId from) const;
  void PairProducers(ValueId to, ValueId from, Bond bond);
  void LookThrough(ValueId to, ValueId from);
  void PairConsumers(ValueId to, ValueId from);
  // How many inputs are known to be each other's; -1 where one contradicts.
  int AgreeingInputs(NodeId to, NodeId from) const;
  bool ConsumersAlike(NodeId to, NodeId from) const;

  const Outline& from_;
  const Outline& to_;
  const Texts& texts_;
  IdVector<NodeId, Pair<NodeId>> nodes_;
  IdVector<ValueId, Pair<ValueId>> values_;
  IdVector<NodeId, bool> taken_;
  IdVector<ValueId, bool> value_taken_;
  std::vector<std::uint32_t> depth_;      // of each new node; made when asked
  std::vector<std::uint32_t> old_depth_;  // of each old one
  std::deque<ValueId> upstream_;
  std::deque<ValueId> downstream_;
  std::vector<std::pair<GraphId, GraphId>> graphs_;
};

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_MATCHING_H_
