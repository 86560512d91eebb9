// What is known of one layer of a list is known of its twins.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hierarchy/name_parts.h"
#include "ladder/rungs/call_regions.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

class LikeLayers {
 public:
  LikeLayers(const Evidence& evidence, const Placed& placed,
             const DataValues& data, Bounds& bounds)
      : evidence_(evidence),
        model_(evidence.model),
        tree_(evidence.modules),
        placed_(placed),
        data_(data),
        bounds_(bounds),
        named_(tree_.size()) {}

  void Run() {
    for (const NodeId node : bounds_.order.nodes) {
      if (!IsKnown(placed_[node]) || !data_.IsMadeBy(node)) continue;
      for (ModuleId at = placed_[node].module; at != ModuleId{0};
           at = tree_.Parent(at)) {
        named_[at].push_back(node);
      }
    }
    for (const ModuleId list : AllIds<ModuleId>(tree_.size())) {
      std::vector<ModuleId> items;
      for (const ModuleId item : tree_.Children(list)) {
        if (!tree_.Children(item).empty() && !named_[item].empty()) {
          items.push_back(item);
        }
      }
      // Along the list and back again, so that all hear of each.
      for (std::size_t i = 1; i < items.size(); ++i) {
        Carry(items[i - 1], items[i]);
      }
      for (std::size_t i = items.size(); i-- > 1;) {
        Carry(items[i], items[i - 1]);
      }
    }
  }

 private:
  // Equal for nodes of twins that use the same parameters.
  std::string PlaceOf(NodeId node, ModuleId item) const {
    std::string place(model_.OpType(node));
    for (ModuleId at = placed_[node].module; at != item;
         at = tree_.Parent(at)) {
      place.append(" ").append(tree_.Atom(at));
    }
    for (const ValueId input : model_.Inputs(node)) {
      const ParameterId id = evidence_.ParameterOf(input);
      if (id == kNo<ParameterId>) continue;
      const std::string_view name = evidence_.parameters[id].name;
      place.append(" ").append(name.substr(name.rfind('.') + 1));
    }
    return place;
  }

  ModuleId ModuleOf(NodeId node) const {
    return placed_[node].tagged() ? placed_[node].module : bounds_.inside[node];
  }

  // The module at the same place of the other item, as far as it exists.
  ModuleId Moved(ModuleId module, ModuleId from, ModuleId to) const {
    std::vector<std::string_view> atoms;
    for (; module != from; module = tree_.Parent(module)) {
      atoms.push_back(tree_.Atom(module));
    }
    for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
      const ModuleId next = tree_.FindChild(to, *atom);
      if (next == kNo<ModuleId>) break;
      to = next;
    }
    return to;
  }

  void Carry(ModuleId from, ModuleId to) {
    std::map<std::string, std::vector<NodeId>> places;
    for (const NodeId node : named_[to]) {
      places[PlaceOf(node, to)].push_back(node);
    }
    pairs_.clear();
    seen_.clear();
    std::map<std::string, std::size_t> taken;
    for (const NodeId node : named_[from]) {
      const std::string place = PlaceOf(node, from);
      const auto twins = places.find(place);
      if (twins == places.end()) continue;
      const std::size_t nth = taken[place]++;
      if (nth < twins->second.size()) Pair(node, twins->second[nth]);
    }
    if (pairs_.size() * 2 < named_[from].size()) return;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto [a, b] = pairs_[i];
      const auto inputs = model_.Inputs(a);
      const auto others = model_.Inputs(b);
      for (std::size_t k = 0; k < inputs.size() && k < others.size(); ++k) {
        if (!data_.Contains(inputs[k]) || !data_.Contains(others[k])) continue;
        Follow(ProducerOf(model_, inputs[k]), ProducerOf(model_, others[k]),
               from, to);
      }
      const auto outputs = model_.Outputs(a);
      const auto results = model_.Outputs(b);
      for (std::size_t k = 0; k < outputs.size() && k < results.size(); ++k) {
        FollowReaders(outputs[k], results[k], from, to);
      }
    }
  }

  void Pair(NodeId a, NodeId b) {
    if (seen_.insert(b).second) pairs_.emplace_back(a, b);
  }

  void Follow(NodeId a, NodeId b, ModuleId from, ModuleId to) {
    if (a == kNo<NodeId> || b == kNo<NodeId> || a == b ||
        model_.OpType(a) != model_.OpType(b) || placed_[b].tagged()) {
      return;
    }
    const ModuleId module = ModuleOf(a);
    if (module == kNo<ModuleId> || !tree_.IsAncestor(from, module)) return;
    const ModuleId known = bounds_.inside[b];
    // Another layer has it already.
    if (known != kNo<ModuleId> && !tree_.IsAncestor(known, to) &&
        !tree_.IsAncestor(to, known)) {
      return;
    }
    bounds_.PutInside(tree_, b, Moved(module, from, to));
    Pair(a, b);
  }

  // The one reader that does the same.
  void FollowReaders(ValueId a, ValueId b, ModuleId from, ModuleId to) {
    if (!data_.Contains(a) || !data_.Contains(b)) return;
    for (const NodeId reader : model_.Consumers(a)) {
      if (placed_[reader].tagged() || !data_.IsMadeBy(reader)) continue;
      const NodeId twin = OnlyReader(b, model_.OpType(reader));
      if (twin == kNo<NodeId> ||
          OnlyReader(a, model_.OpType(reader)) != reader) {
        continue;
      }
      Follow(reader, twin, from, to);
    }
  }

  NodeId OnlyReader(ValueId value, std::string_view op) const {
    NodeId found = kNo<NodeId>;
    for (const NodeId reader : model_.Consumers(value)) {
      if (model_.OpType(reader) != op) continue;
      if (found != kNo<NodeId>) return kNo<NodeId>;
      found = reader;
    }
    return found;
  }

  const Evidence& evidence_;
  const Model& model_;
  const ModuleTree& tree_;
  const Placed& placed_;
  const DataValues& data_;
  Bounds& bounds_;
  IdVector<ModuleId, std::vector<NodeId>> named_;  // below it, too
  std::vector<std::pair<NodeId, NodeId>> pairs_;
  std::set<NodeId> seen_;
};

}  // namespace

void BoundByLikeness(const Evidence& evidence, const Placed& placed,
                     const DataValues& data, Bounds& bounds) {
  LikeLayers(evidence, placed, data, bounds).Run();
}

}  // namespace onnx_tag
