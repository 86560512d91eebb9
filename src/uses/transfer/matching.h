// Finds the old node of each new node, and the old value of each new value.
//
// Pairs are never removed, so the more certain steps come first: names, then
// upstream of a pair (a value has one producer, and inputs have an order), then
// downstream, where a value may have several consumers.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph_facts.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"
#include "uses/transfer/signatures.h"

namespace onnx_tag::transfer {

// Operators that return their first input in another form. Tools insert and
// remove them.
constexpr OpKinds kPassThrough = {OpKind::kIdentity,  OpKind::kCast,
                                  OpKind::kReshape,   OpKind::kTranspose,
                                  OpKind::kExpand,    OpKind::kDropout,
                                  OpKind::kQuantizer, OpKind::kDequantizer};

// A value with more consumers than this says little about each of them, and so
// does a node with more inputs about their producers. Comparing all pairs would
// take the product of both numbers.
constexpr std::size_t kMostNeighbours = 64;

// A version without the pairs of quantizers that only it has: the values
// before them, and their readers behind them.
class Unquantized {
 public:
  Unquantized(const Model& model, const Operators& ops, bool skip);

  bool skips() const { return !sources_.empty(); }
  // The value that `value` restores; kNo for kNo.
  ValueId Source(ValueId value) const {
    return value == kNo<ValueId> || sources_.empty() ? value : sources_[value];
  }
  // Also the nodes that read what restores the value.
  std::vector<NodeId> Readers(ValueId value) const;

 private:
  const Model& model_;
  IdVector<ValueId, ValueId> sources_;  // empty if nothing is skipped
  std::unordered_map<ValueId, std::vector<ValueId>> restored_;
};

// Two versions of a model, and what is the same in both. Either may be the
// model that a sidecar describes: without weights, so without their shapes.
struct Versions {
  // Both must outlive it.
  Versions(const Model& old_version, const Model& new_version);

  const Model& from;
  const GraphFacts to_facts;
  const Model& to;
  const Operators from_ops;
  const Operators& to_ops;
  const Unquantized from_plain;
  const Unquantized to_plain;

  // The name in the old version that is equal to one of the new version; kNo if
  // there is none.
  NameId InFrom(NameId name) const { return in_from_[name]; }

  bool SameOperator(NodeId new_node, NodeId old) const {
    return InFrom(to[new_node].op_type) == from[old].op_type;
  }
  // Also if a quantizer has added to one of them.
  bool SameName(ValueId new_value, ValueId old) const;
  // Whether both are the same output of their producers.
  bool SameOutput(ValueId new_value, ValueId old) const {
    return places_[new_value] == old_places_[old];
  }

  // How the shapes of two weights compare.
  enum class Shapes { kUnknown, kSame, kDifferent };
  Shapes CompareShapes(ValueId new_value, ValueId old) const;

 private:
  IdVector<NameId, NameId> in_from_;
  IdVector<ValueId, std::uint32_t> places_, old_places_;
};

// The attribute that holds a subgraph, or the name of a function.
std::string_view LabelOf(const Model& model, GraphId graph);

// A pair by a unique name is certain, by structure high, by structure past a
// node that only one version has medium.
class Matching {
 public:
  // `versions` must outlive it.
  explicit Matching(const Versions& versions);

  // Does nothing if the new node (value, graph) already has a counterpart.
  void PairNodes(NodeId to, NodeId from, Confidence confidence);
  void PairValues(ValueId to, ValueId from, Confidence confidence);
  void PairGraphs(GraphId to, GraphId from, Confidence confidence);

  // Follows all pairs upstream, then downstream, each new pair upstream at
  // once. Stops where subgraphs are paired: the names in them come first.
  void Follow();

  NodeId Of(NodeId to) const { return nodes_[to].from; }
  ValueId Of(ValueId to) const { return values_[to].from; }
  Confidence ConfidenceOf(NodeId to) const { return nodes_[to].confidence; }
  // Whether it was put behind the node that gives what it gives.
  bool PassesOn(NodeId to) const;
  // Whether some node (value) of the new version has this counterpart.
  bool Taken(NodeId from) const { return taken_[from]; }
  bool Taken(ValueId from) const { return value_taken_[from]; }
  // Pairs across what a tool merged or inserted, where the pairs end. Returns
  // whether it found a pair.
  bool BridgeGaps();

  // Subgraphs paired since the last call, to pair their contents by name.
  std::vector<std::pair<GraphId, GraphId>> TakeGraphs() {
    return std::exchange(graphs_, {});
  }

  const Versions& versions() const { return versions_; }

 private:
  template <typename Id>
  struct Pair {
    Id from = kNo<Id>;
    Confidence confidence = Confidence::kLow;
  };

  bool IsOpen(NodeId to) const { return nodes_[to].from == kNo<NodeId>; }
  void PairInputs(NodeId to, NodeId from, Confidence confidence);
  bool InputsAreSwapped(NodeId to, NodeId from) const;
  void PairProducers(ValueId to, ValueId from);
  void LookThrough(ValueId to, ValueId from);
  void PairDetours(std::span<const ValueId> values,
                   std::span<const ValueId> old_values);
  bool Bridge(ValueId to, ValueId from, bool upstream);
  void PairAcross(NodeId to, NodeId from);
  void PairConsumers(ValueId to, ValueId from);
  // Pairs the quantized product that gives `to` with the product that it was
  // made from.
  void PairQuantizedProducer(ValueId to);
  // The number of inputs that correspond; -1 if one of them contradicts.
  int AgreeingInputs(NodeId to, NodeId from) const;
  bool ConsumersAlike(NodeId to, NodeId from) const;

  const Versions& versions_;
  const Model& from_;
  const Model& to_;
  IdVector<NodeId, Pair<NodeId>> nodes_;
  IdVector<ValueId, Pair<ValueId>> values_;
  IdVector<NodeId, bool> taken_;
  IdVector<ValueId, bool> value_taken_;
  // How often all inputs of a node were looked at.
  IdVector<NodeId, std::uint8_t> looks_;
  // By node that gives the result of a quantized product: the product.
  IdVector<NodeId, NodeId> product_of_;
  std::deque<ValueId> upstream_;
  std::deque<ValueId> downstream_;
  std::deque<ValueId> gaps_;
  int passes_ = 0;  // over all values
  std::vector<std::pair<GraphId, GraphId>> graphs_;
  std::optional<Signatures> to_signatures_, from_signatures_;
};

}  // namespace onnx_tag::transfer
