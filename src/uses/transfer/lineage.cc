// What became of each node, from the pairs of two versions.
#include <algorithm>

#include "base/lists.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/neighbours.h"
#include "uses/transfer/placing.h"

namespace onnx_tag::transfer {
namespace {

class LineageFinder {
 public:
  LineageFinder(const Matching& matching, const Placing& placing)
      : matching_(matching),
        versions_(matching.versions()),
        placing_(placing),
        to_(versions_.to),
        from_(versions_.from),
        heir_(from_.node_count(), kNo<NodeId>),
        fate_(from_.node_count()),
        constant_(from_.node_count(), false),
        live_(from_.node_count(), false),
        new_of_(from_.value_count(), kNo<ValueId>) {}

  Lineage Find() {
    for (const ValueId value : AllIds<ValueId>(to_.value_count())) {
      const ValueId old = matching_.Of(value);
      if (old != kNo<ValueId> && new_of_[old] == kNo<ValueId>) {
        new_of_[old] = value;
      }
    }
    for (const NodeId node : to_.Nodes()) result_.nodes.Add(FirstOf(node));
    for (const NodeId node : to_.Nodes()) {
      if (IsCopy(node)) result_.nodes[node] = {{}, kNew, Confidence::kLow};
    }
    for (const NodeId node : from_.Nodes()) constant_[node] = IsConstant(node);
    // Consumers follow their producers.
    for (std::size_t i = from_.node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      live_[node] = IsLive(node);
      if (heir_[node] == kNo<NodeId>) fate_[node] = FateOf(node);
    }
    for (const NodeId node : from_.Nodes()) {
      if (heir_[node] != kNo<NodeId>) continue;
      const Fate& fate = fate_[node];
      result_.gone.push_back({node, fate.why, fate.into});
      if (fate.into == kNo<NodeId>) continue;
      Lineage::Node& into = result_.nodes[fate.into];
      into.from.push_back(node);
      if (fate.why == kFused && into.how != kNew) into.how = kFused;
    }
    FindTensors();
    return std::move(result_);
  }

 private:
  static constexpr std::string_view kFused = "fused";
  static constexpr std::string_view kFolded = "folded";
  static constexpr std::string_view kMerged = "merged";
  static constexpr std::string_view kBypassed = "bypassed";
  static constexpr std::string_view kDead = "dead";
  static constexpr std::string_view kUnknown = "unknown";
  static constexpr std::string_view kNew = "new";
  static constexpr std::string_view kName = "name";

  struct Fate {
    std::string_view why;
    NodeId into = kNo<NodeId>;
  };

  // The node with the old node that it stands for, without those that went
  // into it.
  Lineage::Node FirstOf(NodeId node) {
    const Place& place = placing_[node];
    const bool helper = place.found == &TransferCounts::helpers;
    const bool product = versions_.to_ops.Is(
        node, {OpKind::kProduct, OpKind::kConvolution, OpKind::kInteger});
    Lineage::Node result{{}, helper ? "inserted" : kNew, Confidence::kLow};
    NodeId old = matching_.Of(node);
    if (old == kNo<NodeId> && (product || !helper) &&
        place.found != &TransferCounts::nearby) {
      old = place.like;
    }
    result.confidence = place.match;
    // The last of the nodes that a quantizer made of one gives its result.
    for (const ValueId output : to_.Outputs(node)) {
      if (old != kNo<NodeId> || output == kNo<ValueId>) break;
      old = ProducerOf(from_, matching_.Of(output));
      if (old != kNo<NodeId> && matching_.PassesOn(node)) {
        result.how = "inserted";
        old = kNo<NodeId>;
      }
      result.confidence = Confidence::kMedium;
    }
    if (old == kNo<NodeId>) {
      result.confidence = Confidence::kLow;
      return result;
    }
    result.from.push_back(old);
    result.how = place.found == &TransferCounts::by_name        ? kName
                 : place.found == &TransferCounts::by_structure ? "structure"
                                                                : kFused;
    if (heir_[old] == kNo<NodeId> || matching_.Of(node) == old) {
      heir_[old] = node;
    }
    return result;
  }

  // Whether the old node is still there under its own name, so that a node
  // which is only like it is another one: a layer that was added.
  bool IsCopy(NodeId node) const {
    for (const ValueId output : to_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      const ValueId old = matching_.Of(output);
      if (old != kNo<ValueId> &&
          from_.ValueName(old) == to_.ValueName(output)) {
        return false;
      }
    }
    const std::vector<NodeId>& from = result_.nodes[node].from;
    const NodeId heir = from.empty() ? kNo<NodeId> : heir_[from[0]];
    return heir != kNo<NodeId> && heir != node &&
           result_.nodes[node].how != kName &&
           result_.nodes[heir].how == kName &&
           versions_.SameOperator(heir, from[0]);
  }

  // Whether constants and shapes alone decide its results.
  bool IsConstant(NodeId node) const {
    const Operators& ops = versions_.from_ops;
    if (ops.Is(node, OpKind::kShapeOf)) return true;
    if (ops.Is(node, {OpKind::kRandom, OpKind::kControl})) return false;
    return AllIn(from_.Inputs(node), [&](ValueId input) {
      if (input == kNo<ValueId>) return true;
      const NodeId maker = from_.Producer(input);
      if (maker != kNo<NodeId>) return static_cast<bool>(constant_[maker]);
      return !from_[input].is_input || from_.InitializerOf(input) != nullptr;
    });
  }

  bool IsLive(NodeId node) const {
    for (const ValueId output : from_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      if (from_[output].is_output) return true;
      for (const NodeId reader : from_.Consumers(output)) {
        if (live_[reader]) return true;
      }
    }
    return false;
  }

  Fate FateOf(NodeId node) const {
    if (!live_[node]) return {kDead};
    if (constant_[node]) return {kFolded};
    Fate found{kUnknown};
    for (const ValueId output : from_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      if (new_of_[output] != kNo<ValueId>) {
        found = ReplacedBy(node, new_of_[output]);
      }
      for (const NodeId reader : from_.Consumers(output)) {
        if (found.why != kUnknown) return found;
        found = SeenBy(reader, node, output);
      }
    }
    return found;
  }

  // What became of a node whose result is now `value`.
  Fate ReplacedBy(NodeId node, ValueId value) const {
    const NodeId maker = ProducerOf(to_, value);
    const bool passes = versions_.from_ops.Is(node, kPassThrough);
    if (maker == kNo<NodeId>) {
      if (passes) return {kBypassed};
      return {to_.InitializerOf(value) != nullptr ? kFolded : kUnknown};
    }
    if (passes && !versions_.SameOperator(maker, node)) return {kBypassed};
    const std::vector<NodeId>& from = result_.nodes[maker].from;
    if (from.empty() || from_[from[0]].op_type != from_[node].op_type ||
        !versions_.SameOperator(maker, node)) {
      return {kFused, maker};
    }
    // What reads the other one does not compute the same.
    const bool reads = AnyIn(from_.Inputs(node), [&](ValueId input) {
      return ProducerOf(from_, input) == from[0];
    });
    return reads ? Fate{kUnknown} : Fate{kMerged, maker};
  }

  // The new input in the place of `old`, which `reader` read.
  ValueId InPlaceOf(ValueId old, NodeId reader, NodeId into) const {
    const auto inputs = from_.Inputs(reader);
    const auto now = to_.Inputs(into);
    // A node with very many inputs says little about the producer of each.
    if (inputs.size() > kMostNeighbours) return kNo<ValueId>;
    const auto at = static_cast<std::size_t>(
        std::find(inputs.begin(), inputs.end(), old) - inputs.begin());
    if (at >= now.size()) return kNo<ValueId>;
    const bool swapped =
        now.size() == 2 && inputs.size() == 2 && now[at] != kNo<ValueId> &&
        matching_.Of(now[at]) == inputs[1 - at] && inputs[1 - at] != old;
    return now[swapped ? 1 - at : at];
  }

  // The same, from a reader of its result.
  Fate SeenBy(NodeId reader, NodeId node, ValueId output) const {
    const NodeId heir = heir_[reader];
    const NodeId into = heir != kNo<NodeId> ? heir : fate_[reader].into;
    const ValueId now =
        into == kNo<NodeId> ? kNo<ValueId> : InPlaceOf(output, reader, into);
    if (now != kNo<ValueId> && versions_.SameOperator(into, reader) &&
        (heir != kNo<NodeId> || fate_[reader].why == kMerged)) {
      const Fate fate = ReplacedBy(node, now);
      if (fate.why != kUnknown) return fate;
    }
    if (heir != kNo<NodeId>) {
      return {kFused, now != kNo<ValueId> && IsBefore(heir, now, node)
                          ? ProducerOf(to_, now)
                          : heir};
    }
    const Fate& fate = fate_[reader];
    return fate.why == kMerged || fate.why == kBypassed ? Fate{kUnknown} : fate;
  }

  // Whether `node` went into the node that feeds `heir`, not into `heir`, as an
  // activation goes into the convolution before it.
  bool IsBefore(NodeId heir, ValueId now, NodeId node) const {
    const auto inputs = to_.Inputs(heir);
    if (inputs.size() > kMostNeighbours) return false;
    const NodeId maker = ProducerOf(to_, now);
    bool before = false;
    for (const ValueId old : from_.Inputs(node)) {
      if (old == kNo<ValueId>) continue;
      for (const ValueId input : inputs) {
        if (input != kNo<ValueId> && matching_.Of(input) == old) return false;
      }
      const NodeId old_maker = from_.Producer(old);
      before |= maker != kNo<NodeId> && old_maker != kNo<NodeId> &&
                heir_[old_maker] == maker;
    }
    return before;
  }

  void FindTensors() {
    const NameIndex names(from_);
    IdVector<ValueId, bool> kept(from_.value_count(), false);
    for (const ValueId value : AllIds<ValueId>(to_.value_count())) {
      const std::string_view name = to_.ValueName(value);
      if (name.empty() || (to_[value].producer == kNo<NodeId> &&
                           to_.InitializerOf(value) == nullptr)) {
        continue;
      }
      Lineage::Tensor tensor{value, matching_.Of(value), "structure"};
      if (tensor.from == kNo<ValueId> && to_.InitializerOf(value) != nullptr) {
        tensor.from = names.Value(hierarchy::UndoTensorName(name).name);
        tensor.how = "tool";  // which added to the name
      }
      if (tensor.from == kNo<ValueId>) {
        tensor.how = kNew;
      } else {
        kept[tensor.from] = true;
        if (from_.ValueName(tensor.from) == name) tensor.how = "name";
      }
      result_.tensors.push_back(tensor);
    }
    for (const Initializer& tensor : from_.initializers()) {
      if (kept[tensor.value]) continue;
      std::string_view why = kDead;
      for (const NodeId reader : from_.Consumers(tensor.value)) {
        if (why != kDead) break;
        why = heir_[reader] == kNo<NodeId> ? fate_[reader].why : kFused;
      }
      result_.gone_tensors.emplace_back(tensor.value, why);
    }
  }

  const Matching& matching_;
  const Versions& versions_;
  const Placing& placing_;
  const Model& to_;
  const Model& from_;
  IdVector<NodeId, NodeId> heir_;  // by old node: the new one it became
  IdVector<NodeId, Fate> fate_;    // of old nodes without one
  IdVector<NodeId, bool> constant_;
  IdVector<NodeId, bool> live_;
  IdVector<ValueId, ValueId> new_of_;
  Lineage result_;
};

}  // namespace

Lineage FindLineage(const Matching& matching, const Placing& placing) {
  return LineageFinder(matching, placing).Find();
}

}  // namespace onnx_tag::transfer
