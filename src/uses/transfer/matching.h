// Finds the old node of each new node, and the old value of each new value.
//
// Pairs are never removed, so the more certain steps come first: names, then
// upstream of a pair (a value has one producer, and inputs have an order), then
// downstream, where a value may have several consumers.
#ifndef ONNX_TAG_USES_TRANSFER_MATCHING_H_
#define ONNX_TAG_USES_TRANSFER_MATCHING_H_

#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph_facts.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::transfer {

// Operators that return their first input in another form. Tools insert and
// remove them.
constexpr OpKinds kPassThrough = {OpKind::kIdentity,  OpKind::kCast,
                                  OpKind::kReshape,   OpKind::kTranspose,
                                  OpKind::kExpand,    OpKind::kDropout,
                                  OpKind::kQuantizer, OpKind::kDequantizer};
// Operators that return their first input as another type. Tools put them
// between two nodes, and nothing else about the nodes changes.
constexpr OpKinds kConversion = {OpKind::kIdentity, OpKind::kCast,
                                 OpKind::kQuantizer, OpKind::kDequantizer};

// Two versions of a model, and what is the same in both. Either may be the
// model that a sidecar describes: without weights, so without their shapes.
struct Versions {
  // Both must outlive it.
  Versions(const Model& old_version, const Model& new_version);

  const Model& from;
  const Model& to;
  const Operators from_ops;
  const Operators to_ops;

  // The name in the new version that is equal to one of the old version; kNo if
  // there is none.
  NameId InTo(NameId old) const { return in_to_[old]; }

  bool SameOperator(NodeId new_node, NodeId old) const {
    return to[new_node].op_type == InTo(from[old].op_type);
  }
  bool SameName(ValueId new_value, ValueId old) const {
    return to[new_value].name == InTo(from[old].name);
  }
  // Whether both are the same output of their producers.
  bool SameOutput(ValueId new_value, ValueId old) const;

  // How the shapes of two weights compare.
  enum class Shapes { kUnknown, kSame, kDifferent };
  Shapes CompareShapes(ValueId new_value, ValueId old) const;

 private:
  IdVector<NameId, NameId> in_to_;
};

// The attribute that holds a subgraph, or the name of a function.
std::string_view LabelOf(const Model& model, GraphId graph);

// A pair by a unique name is certain, by structure high, by structure past a
// node that only one version has medium.
class Matching {
 public:
  // Both must outlive it. `graph` has the facts about the new version.
  Matching(const Versions& versions, const GraphFacts& graph);

  // Does nothing if the new node (value, graph) already has a counterpart.
  void PairNodes(NodeId to, NodeId from, Confidence confidence);
  void PairValues(ValueId to, ValueId from, Confidence confidence);
  void PairGraphs(GraphId to, GraphId from, Confidence confidence);

  // Follows all pairs upstream until there is no new pair.
  void FollowUpstream();
  // Follows all pairs downstream. Each new pair is followed upstream at once.
  void FollowDownstream();
  // If several calls of one module read a parameter, pairs the calls in order.
  // Returns whether it found a pair.
  bool PairCalls();

  // The numbers in names mean the same in both versions.
  void TrustCountedNames() { trusts_counted_names_ = true; }
  bool trusts_counted_names() const { return trusts_counted_names_; }

  NodeId Of(NodeId to) const { return nodes_[to].from; }
  ValueId Of(ValueId to) const { return values_[to].from; }
  Confidence ConfidenceOf(NodeId to) const { return nodes_[to].confidence; }
  // Whether some node (value) of the new version has this counterpart.
  bool Taken(NodeId from) const { return taken_[from]; }
  bool Taken(ValueId from) const { return value_taken_[from]; }
  // Subgraphs paired since the last call, to pair their contents by name.
  bool HasGraphs() const { return !graphs_.empty(); }
  std::vector<std::pair<GraphId, GraphId>> TakeGraphs() {
    return std::exchange(graphs_, {});
  }

  const Versions& versions() const { return versions_; }

 private:
  // A product of the new version that a quantizer wrote as several nodes.
  struct Quantized {
    NodeId product = kNo<NodeId>;
    ValueId data = kNo<ValueId>;  // before it was quantized
    ValueId weight = kNo<ValueId>;
    ValueId scaled = kNo<ValueId>;  // the result, without a bias
    ValueId biased = kNo<ValueId>;  // kNo if there is no bias
  };
  template <typename Id>
  struct Pair {
    Id from = kNo<Id>;
    Confidence confidence = Confidence::kLow;
  };

  void PairInputs(NodeId to, NodeId from, Confidence confidence);
  bool InputsAreSwapped(NodeId to, NodeId from) const;
  void PairProducers(ValueId to, ValueId from, Confidence confidence);
  void LookThrough(ValueId to, ValueId from);
  void PairConsumers(ValueId to, ValueId from);
  void FindQuantized(const GraphFacts& graph);
  // Pairs quantized products with the products that they were made from: those
  // that read `to`, and the one that gives it.
  void PairQuantizedReaders(ValueId to);
  void PairQuantizedProducer(ValueId to);
  bool IsOldProduct(const Quantized& product, NodeId old) const;
  void PairQuantized(const Quantized& product, NodeId old);
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
  std::vector<std::uint32_t> depth_;      // by new node; computed on demand
  std::vector<std::uint32_t> old_depth_;  // by old node
  std::vector<Quantized> quantized_;
  // Values of the new version with the quantized products that read them, and
  // with those that give them; sorted.
  std::vector<std::pair<ValueId, std::uint32_t>> quantized_readers_;
  std::vector<std::pair<ValueId, std::uint32_t>> quantized_results_;
  bool trusts_counted_names_ = false;
  std::deque<ValueId> upstream_;
  std::deque<ValueId> downstream_;
  std::vector<std::pair<GraphId, GraphId>> graphs_;
};

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_USES_TRANSFER_MATCHING_H_
