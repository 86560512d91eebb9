#include "uses/transfer/names.h"

#include <algorithm>

#include "clues/exporters/tools/original_name.h"
#include "core/graph/neighbours.h"

namespace onnx_tag::transfer {
namespace {

// Marks a name that is not unique.
template <typename Id>
constexpr Id kSeveral = static_cast<Id>(Index(kNo<Id>) - 1);

template <typename Name, typename Id>
void Note(std::unordered_map<Name, Id>& index, Name name, Id id) {
  const auto [at, added] = index.try_emplace(name, id);
  if (!added && at->second != id) at->second = kSeveral<Id>;
}

template <typename Name, typename Id>
Id Look(const std::unordered_map<Name, Id>& index, Name name) {
  const auto at = index.find(name);
  return at == index.end() || at->second == kSeveral<Id> ? kNo<Id> : at->second;
}

class NamePairs {
 public:
  NamePairs(Matching& matching, const NameIndex& to_index,
            const NameIndex& from_index)
      : matching_(matching),
        versions_(matching.versions()),
        to_(versions_.to),
        from_(versions_.from),
        to_index_(to_index),
        from_index_(from_index) {}

  template <typename Nodes>
  void Pair(const Nodes& nodes) {
    PairEqualNodes(nodes);
    // Values first, because pairing nodes also pairs their outputs.
    for (const NodeId node : nodes) {
      for (const ValueId value : to_.Outputs(node)) {
        const ValueId old = OldValue(value);
        if (old == kNo<ValueId>) continue;
        if (!IsCounted(to_.ValueName(value)) || to_[value].is_output ||
            SameProducers(node, from_[old].producer)) {
          matching_.PairValues(value, old, Confidence::kCertain);
        }
      }
    }
    for (const NodeId node : nodes) {
      const NodeId old = Counterpart(node);
      if (old != kNo<NodeId>) {
        matching_.PairNodes(node, old, Confidence::kCertain);
      }
    }
  }

 private:
  // Nodes with the same operator and with the same names throughout: their own
  // and those of their inputs and outputs. If most nodes with a name in both
  // versions are equal, the numbers in names mean the same in both.
  template <typename Nodes>
  void PairEqualNodes(const Nodes& nodes) {
    std::vector<std::pair<NodeId, NodeId>> equal;
    std::size_t common = 0;
    for (const NodeId node : nodes) {
      const ValueId value = OldValue(FirstOutput(to_, node));
      if (value == kNo<ValueId> || to_.Inputs(node).empty()) continue;
      ++common;
      const NodeId old = from_[value].producer;
      if (versions_.SameOperator(node, old) &&
          to_[node].name == from_[old].name &&
          SameNames(to_.Inputs(node), from_.Inputs(old)) &&
          SameNames(to_.Outputs(node), from_.Outputs(old))) {
        equal.emplace_back(node, old);
      }
    }
    const bool most = 2 * equal.size() >= common;
    for (const auto& [node, old] : equal) {
      if (most || !IsCounted(to_[node].name)) {
        matching_.PairNodes(node, old, Confidence::kCertain);
      }
    }
  }

  bool SameNames(std::span<const ValueId> to,
                 std::span<const ValueId> from) const {
    return std::equal(to.begin(), to.end(), from.begin(), from.end(),
                      [&](ValueId a, ValueId b) {
                        return a == kNo<ValueId> || b == kNo<ValueId>
                                   ? a == b
                                   : versions_.SameName(a, b);
                      });
  }

  // The old output of a node with this name.
  ValueId OldValue(ValueId value) const {
    if (value == kNo<ValueId>) return value;
    const NameId name = to_[value].name;
    if (to_index_.Value(name) != value) return kNo<ValueId>;
    const ValueId old = from_index_.Value(versions_.InFrom(name));
    return ProducerOf(from_, old) == kNo<NodeId> ? kNo<ValueId> : old;
  }

  NodeId Counterpart(NodeId node) const {
    for (const ValueId value : to_.Outputs(node)) {
      if (value == kNo<ValueId> || matching_.Of(value) == kNo<ValueId>) {
        continue;
      }
      const ValueId old = matching_.Of(value);
      const NodeId producer = from_[old].producer;
      if (producer != kNo<NodeId> && versions_.SameOperator(node, producer) &&
          versions_.SameOutput(value, old)) {
        return producer;
      }
    }
    const std::string_view name = to_[node].name;
    if (to_index_.Node(name) != node) return kNo<NodeId>;
    const NodeId old = from_index_.Node(name);
    if (old == kNo<NodeId> || !versions_.SameOperator(node, old)) {
      return kNo<NodeId>;
    }
    return !IsCounted(name) || SameProducers(node, old) ? old : kNo<NodeId>;
  }

  // Whether the operators are the same and more inputs have the same name and
  // producer than not.
  bool SameProducers(NodeId node, NodeId old) const {
    if (!versions_.SameOperator(node, old)) return false;
    const auto inputs = to_.Inputs(node);
    const auto old_inputs = from_.Inputs(old);
    int balance = 0;  // the number in the name of a constant means nothing
    for (std::size_t i = 0; i < std::min(inputs.size(), old_inputs.size());
         ++i) {
      if (inputs[i] == kNo<ValueId> || old_inputs[i] == kNo<ValueId>) continue;
      const NodeId a = to_.Producer(inputs[i]);
      const NodeId b = from_.Producer(old_inputs[i]);
      const bool alike = a == kNo<NodeId> || b == kNo<NodeId>
                             ? a == b
                             : versions_.SameOperator(a, b);
      const bool same = alike && versions_.SameName(inputs[i], old_inputs[i]) &&
                        versions_.CompareShapes(inputs[i], old_inputs[i]) !=
                            Versions::Shapes::kDifferent;
      balance += same ? 1 : -1;
    }
    return balance > 0;
  }

  Matching& matching_;
  const Versions& versions_;
  const Model& to_;
  const Model& from_;
  const NameIndex& to_index_;
  const NameIndex& from_index_;
};

// Pairs inputs (outputs) of two graphs by name, else in order if their number
// is equal.
void PairInterface(Matching& matching, const std::vector<ValueId>& to,
                   const std::vector<ValueId>& from) {
  const Versions& versions = matching.versions();
  std::unordered_map<NameId, ValueId> old;
  for (const ValueId value : from) Note(old, versions.from[value].name, value);
  for (const ValueId value : to) {
    const ValueId found = Look(old, versions.InFrom(versions.to[value].name));
    if (found != kNo<ValueId>) {
      matching.PairValues(value, found, Confidence::kCertain);
    }
  }
  if (to.size() != from.size()) return;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (matching.Taken(from[i])) continue;
    matching.PairValues(to[i], from[i], Confidence::kHigh);
  }
}

bool IsQuantizersNumber(std::string_view name) {
  for (const std::string_view end :
       {"scale", "scales", "zero_point", "zero_points", "absmax"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

// Pairs weights and graph inputs, the values without a producer.
void PairParameters(Matching& matching, const NameIndex& old_index) {
  const Versions& versions = matching.versions();
  const Model& to = versions.to;
  for (const ValueId value : AllIds<ValueId>(to.value_count())) {
    if (to[value].producer != kNo<NodeId>) continue;
    const std::string_view name = to.ValueName(value);
    const auto pair = [&](std::string_view called) {
      const ValueId found = old_index.Value(called);
      if (found == kNo<ValueId> ||
          versions.from[found].producer != kNo<NodeId>) {
        return;
      }
      if (!IsCountedWord(called) ||
          versions.CompareShapes(value, found) == Versions::Shapes::kSame) {
        matching.PairValues(value, found, Confidence::kCertain);
      }
    };
    pair(name);
    const auto undone = hierarchy::UndoTensorName(name);
    if (undone.name != name && !undone.module_only &&
        !IsQuantizersNumber(name)) {
      pair(undone.name);
    }
  }
}

}  // namespace

bool IsCounted(std::string_view name) {
  // The first name of a sequence has no number: "Gelu", then "Gelu_1".
  return IsCountedWord(name) || name.find_first_of("/.") == name.npos;
}

bool IsCountedWord(std::string_view name) {
  if (name.starts_with("onnx::")) return true;
  if (name.find('/') != std::string_view::npos) return false;
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return true;
  if (end + 1 == name.size()) return false;
  std::string_view word = name.substr(0, end + 1);
  if (word.ends_with('_') || word.ends_with('.')) word.remove_suffix(1);
  return word.find('.') == std::string_view::npos;
}

void PairByNames(Matching& matching) {
  const Model& to = matching.versions().to;
  const Model& from = matching.versions().from;
  if (to.Graphs().begin() == to.Graphs().end() || from.node_count() == 0) {
    return;
  }
  const GraphId main{0};
  const NameIndex old_index(from);
  PairInterface(matching, to[main].inputs, from[main].inputs);
  PairInterface(matching, to[main].outputs, from[main].outputs);
  PairParameters(matching, old_index);
  NamePairs(matching, NameIndex(to), old_index).Pair(to.Nodes());
}

void PairByNames(Matching& matching, GraphId to, GraphId from) {
  const Versions& versions = matching.versions();
  const std::vector<NodeId>& nodes = versions.to[to].nodes;
  NamePairs(matching, NameIndex(versions.to, nodes),
            NameIndex(versions.from, versions.from[from].nodes))
      .Pair(nodes);
}

NameIndex::NameIndex(const Model& model) : model_(model) {
  for (const NodeId node : model.Nodes()) AddNode(node);
  for (const ValueId value : AllIds<ValueId>(model.value_count())) {
    AddValue(value);
  }
}

NameIndex::NameIndex(const Model& model, const std::vector<NodeId>& nodes)
    : model_(model) {
  for (const NodeId node : nodes) {
    AddNode(node);
    for (const ValueId value : model.Outputs(node)) AddValue(value);
  }
}

void NameIndex::AddNode(NodeId node) {
  if (!model_[node].name.empty()) Note(nodes_, model_[node].name, node);
}

void NameIndex::AddValue(ValueId value) {
  if (value != kNo<ValueId>) Note(values_, model_[value].name, value);
}

NodeId NameIndex::Node(std::string_view name) const {
  return Look(nodes_, name);
}

ValueId NameIndex::Value(NameId name) const {
  return name == kNo<NameId> ? kNo<ValueId> : Look(values_, name);
}

}  // namespace onnx_tag::transfer
