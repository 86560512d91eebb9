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

// Nodes by their names and by the names of their outputs, if unique.
// `name_of` gives the names of outputs as those of the new version.
struct NodeIndex {
  std::unordered_map<std::string_view, NodeId> by_name;
  std::unordered_map<NameId, ValueId> by_output;

  template <typename Nodes, typename NameOf>
  NodeIndex(const Model& model, const Nodes& nodes, const NameOf& name_of) {
    for (const NodeId node : nodes) {
      if (!model[node].name.empty()) Note(by_name, model[node].name, node);
      for (const ValueId value : model.Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        const NameId name = name_of(model[value].name);
        if (name != kNo<NameId>) Note(by_output, name, value);
      }
    }
  }
};

struct NodePair {
  NodeId to;
  NodeId from;
};

// The maximum number of consecutive nodes between a value and its reader.
constexpr std::size_t kMostBetween = 6;

// The name without what a quantizer appended: "w_quantized" is "w".
std::string_view BeforeQuantizing(std::string_view name) {
  for (const std::string_view end :
       {"_DequantizeLinear_Output", "_QuantizeLinear_Output",
        "_QuantizeLinear_Input", "_quantized"}) {
    if (name.size() > end.size() && name.ends_with(end)) {
      return name.substr(0, name.size() - end.size());
    }
  }
  return name;
}

class NamePairs {
 public:
  template <typename Nodes>
  NamePairs(Matching& matching, const Nodes& to_nodes, const Nodes& from_nodes)
      : matching_(matching),
        versions_(matching.versions()),
        to_(versions_.to),
        from_(versions_.from),
        to_index_(to_, to_nodes, [](NameId name) { return name; }),
        from_index_(from_, from_nodes,
                    [this](NameId name) { return versions_.InTo(name); }) {
    for (const NodeId node : to_nodes) nodes_.push_back(node);
  }

  void Pair() {
    PairEqualNodes();
    const bool counted = CountedNamesAgree();
    if (counted) matching_.TrustCountedNames();
    // Values first, because pairing nodes also pairs their outputs.
    for (const NodeId node : nodes_) {
      for (const ValueId value : to_.Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        const ValueId old = OldValue(value);
        if (old == kNo<ValueId>) continue;
        if (!IsCounted(to_.ValueName(value)) || to_[value].is_output ||
            (counted && SameProducers(value, old))) {
          matching_.PairValues(value, old, Confidence::kCertain);
        }
      }
    }
    for (const NodeId node : nodes_) {
      const NodeId old = Counterpart(node, counted);
      if (old != kNo<NodeId>)
        matching_.PairNodes(node, old, Confidence::kCertain);
    }
  }

 private:
  // Nodes with the same operator and with the same names throughout: their own
  // and those of their inputs and outputs. If most nodes with a name in both
  // versions are equal, the numbers in names mean the same in both.
  void PairEqualNodes() {
    std::vector<NodePair> equal;
    std::size_t common = 0;
    for (const NodeId node : nodes_) {
      const auto outputs = to_.Outputs(node);
      if (outputs.empty() || outputs[0] == kNo<ValueId>) continue;
      const ValueId value = OldValue(outputs[0]);
      if (value == kNo<ValueId> || to_.Inputs(node).empty()) continue;
      ++common;
      const NodeId old = from_[value].producer;
      if (versions_.SameOperator(node, old) &&
          to_[node].name == from_[old].name &&
          SameNames(to_.Inputs(node), from_.Inputs(old)) &&
          SameNames(outputs, from_.Outputs(old))) {
        equal.push_back({node, old});
      }
    }
    const bool most = 2 * equal.size() >= common;
    for (const NodePair& pair : equal) {
      if (most || !IsCounted(to_[pair.to].name)) {
        matching_.PairNodes(pair.to, pair.from, Confidence::kCertain);
      }
    }
  }

  bool SameNames(std::span<const ValueId> to,
                 std::span<const ValueId> from) const {
    return std::equal(to.begin(), to.end(), from.begin(), from.end(),
                      [&](ValueId a, ValueId b) {
                        if (a == kNo<ValueId> || b == kNo<ValueId>) {
                          return a == b;
                        }
                        return SameName(Source(to_, versions_.to_ops, a),
                                        Source(from_, versions_.from_ops, b));
                      });
  }

  // The value that was read before a tool put a conversion between.
  static ValueId Source(const Model& model, const Operators& ops,
                        ValueId value) {
    for (std::size_t steps = 0; steps < kMostBetween; ++steps) {
      const NodeId node = model.Producer(value);
      if (node == kNo<NodeId> || !ops.Is(node, kConversion) ||
          FirstInput(model, node) == kNo<ValueId>) {
        break;
      }
      value = FirstInput(model, node);
    }
    return value;
  }

  bool SameName(ValueId to, ValueId from) const {
    return versions_.SameName(to, from) ||
           BeforeQuantizing(to_.ValueName(to)) ==
               BeforeQuantizing(from_.ValueName(from));
  }

  ValueId OldValue(ValueId value) const {
    const NameId name = to_[value].name;
    return Look(to_index_.by_output, name) == value
               ? Look(from_index_.by_output, name)
               : kNo<ValueId>;
  }

  NodeId Counterpart(NodeId node, bool counted) const {
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
    if (Look(to_index_.by_name, name) != node) return kNo<NodeId>;
    const NodeId old = Look(from_index_.by_name, name);
    if (old == kNo<NodeId> || !versions_.SameOperator(node, old)) {
      return kNo<NodeId>;
    }
    if (!IsCounted(name)) return old;
    return counted && SameInputs(node, old) ? old : kNo<NodeId>;
  }

  bool SameProducers(ValueId value, ValueId old) const {
    const NodeId a = to_[value].producer;
    const NodeId b = from_[old].producer;
    return versions_.SameOperator(a, b) && SameInputs(a, b);
  }

  // Whether more inputs have the same name and producer than not.
  bool SameInputs(NodeId node, NodeId old) const {
    const auto inputs = to_.Inputs(node);
    const auto old_inputs = from_.Inputs(old);
    int balance = 0;  // the number in the name of a constant means nothing
    for (std::size_t i = 0; i < std::min(inputs.size(), old_inputs.size());
         ++i) {
      if (inputs[i] == kNo<ValueId> || old_inputs[i] == kNo<ValueId>) continue;
      const ValueId source = Source(to_, versions_.to_ops, inputs[i]);
      const ValueId old_source =
          Source(from_, versions_.from_ops, old_inputs[i]);
      const NodeId a = to_.Producer(source);
      const NodeId b = from_.Producer(old_source);
      const bool alike = a == kNo<NodeId> || b == kNo<NodeId>
                             ? a == b
                             : versions_.SameOperator(a, b);
      const bool same = SameName(source, old_source) && alike &&
                        versions_.CompareShapes(source, old_source) !=
                            Versions::Shapes::kDifferent;
      balance += same ? 1 : -1;
    }
    return balance > 0;
  }

  // Whether the numbers in names are equal in both versions: nearly all nodes
  // with the same numbered name have the same operator and inputs.
  bool CountedNamesAgree() const {
    std::size_t same = 0;
    std::size_t all = 0;
    for (const NodeId node : nodes_) {
      if (to_.Inputs(node).empty()) continue;
      for (const ValueId value : to_.Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        if (!IsCounted(to_.ValueName(value))) continue;
        const ValueId old = OldValue(value);
        if (old == kNo<ValueId>) continue;
        ++all;
        const NodeId producer = from_[old].producer;
        same += versions_.SameOperator(node, producer);
      }
    }
    return 10 * same >= 9 * all;
  }

  Matching& matching_;
  const Versions& versions_;
  const Model& to_;
  const Model& from_;
  NodeIndex to_index_;
  NodeIndex from_index_;
  std::vector<NodeId> nodes_;
};

// Pairs inputs (outputs) of two graphs by name, else in order if their number
// is equal.
void PairInterface(Matching& matching, const std::vector<ValueId>& to,
                   const std::vector<ValueId>& from) {
  const Versions& versions = matching.versions();
  std::unordered_map<NameId, ValueId> old;
  for (const ValueId value : from) {
    const NameId name = versions.InTo(versions.from[value].name);
    if (name != kNo<NameId>) Note(old, name, value);
  }
  for (const ValueId value : to) {
    const ValueId found = Look(old, versions.to[value].name);
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

// Pairs weights and graph inputs, the values without a producer.
void PairParameters(Matching& matching) {
  const Versions& versions = matching.versions();
  const Model& to = versions.to;
  const Model& from = versions.from;
  std::unordered_map<NameId, ValueId> old;
  for (const ValueId value : AllIds<ValueId>(from.value_count())) {
    if (from[value].producer == kNo<NodeId>) Note(old, from[value].name, value);
  }
  for (const ValueId value : AllIds<ValueId>(to.value_count())) {
    if (to[value].producer != kNo<NodeId>) continue;
    const std::string_view name = to.ValueName(value);
    const auto pair = [&](std::string_view called) {
      const NameId id = from.FindName(called);
      const ValueId found = id == kNo<NameId> ? kNo<ValueId> : Look(old, id);
      if (found == kNo<ValueId>) return;
      if (!IsCountedWord(called) ||
          versions.CompareShapes(value, found) == Versions::Shapes::kSame) {
        matching.PairValues(value, found, Confidence::kCertain);
      }
    };
    pair(name);
    const hierarchy::StrippedName undone = hierarchy::UndoTensorName(name);
    if (undone.name != name && !undone.module_only && !undone.beside_weight) {
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
  PairInterface(matching, to[main].inputs, from[main].inputs);
  PairInterface(matching, to[main].outputs, from[main].outputs);
  PairParameters(matching);
  NamePairs(matching, to.Nodes(), from.Nodes()).Pair();
}

void PairByNames(Matching& matching, GraphId to, GraphId from) {
  const Versions& versions = matching.versions();
  NamePairs(matching, versions.to[to].nodes, versions.from[from].nodes).Pair();
}

NamesOf::NamesOf(const Model& model)
    : model_(model), values_(model.name_count(), kNo<ValueId>) {
  for (const NodeId node : model.Nodes()) {
    if (!model[node].name.empty()) Note(nodes_, model[node].name, node);
  }
  for (const ValueId value : AllIds<ValueId>(model.value_count())) {
    ValueId& at = values_[model[value].name];
    at = at == kNo<ValueId> ? value : kSeveral<ValueId>;
  }
}

NodeId NamesOf::Node(std::string_view name) const { return Look(nodes_, name); }

ValueId NamesOf::Value(std::string_view name) const {
  const NameId id = name.empty() ? kNo<NameId> : model_.FindName(name);
  if (id == kNo<NameId> || values_[id] == kSeveral<ValueId>) {
    return kNo<ValueId>;
  }
  return values_[id];
}

}  // namespace onnx_tag::transfer
