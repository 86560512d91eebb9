// What is known of one layer of a list is known of its twins.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/rungs/graph_patterns.h"
#include "mapping/ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

class LikeLayers : BoundsFinder {
 public:
  explicit LikeLayers(const BoundsFinder& finder)
      : BoundsFinder(finder), named_(tree_.size()) {}

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
      if (items.size() > kMostItems) continue;
      // From the first item to the last and back again, so that what is known
      // of one item reaches all of them.
      for (std::size_t i = 1; i < items.size(); ++i) {
        Carry(items[i - 1], items[i]);
      }
      for (std::size_t i = items.size(); i-- > 1;) {
        Carry(items[i], items[i - 1]);
      }
      if (items.size() > 1) Extend(items);
    }
    ExtendNamesakes();
  }

 private:
  static constexpr std::size_t kMostItems = 4096;
  static constexpr std::size_t kNear = 32;  // nodes looked at behind one
  static constexpr std::size_t kFew = 4;    // items that are looked at

  // Modules of one name and with the same parts whose owners differ: what goes
  // along with all of them is theirs, not the owners'.
  void ExtendNamesakes() {
    std::map<std::string, std::vector<ModuleId>> kinds;
    for (const ModuleId id : AllIds<ModuleId>(tree_.size())) {
      if (id == ModuleId{0} || named_[id].empty() ||
          tree_.Children(id).empty() || hierarchy::IsNumeric(tree_.Atom(id))) {
        continue;
      }
      std::set<std::string_view> parts;
      for (const ModuleId part : tree_.Children(id)) {
        parts.insert(tree_.Atom(part));
      }
      std::string kind(tree_.Atom(id));
      for (const std::string_view part : parts) kind.append(" ").append(part);
      kinds[kind].push_back(id);
    }
    for (const auto& [kind, modules] : kinds) {
      std::set<std::string> owners;
      for (const ModuleId id : modules) owners.insert(KindOf(tree_.Parent(id)));
      if (owners.size() > 1 && modules.size() <= kMostItems) Extend(modules);
    }
  }

  // The path without numbers: those of `stages.0`, `stage1` and `stage2` are
  // of one kind.
  std::string KindOf(ModuleId module) const {
    std::string kind;
    for (; module != ModuleId{0}; module = tree_.Parent(module)) {
      std::string_view name = tree_.Atom(module);
      name.remove_suffix(hierarchy::TrailingDigits(name));
      if (!name.empty()) kind.append(name).push_back('.');
    }
    return kind;
  }

  // Nodes at the same place of every item, in the order of the items.
  using Row = std::vector<NodeId>;

  // What follows every item of a list, the last one, too, is the item's, and
  // so is what all of them are fed through and nothing else reads.
  void Extend(const std::vector<ModuleId>& items) {
    std::vector<Row> rows = NamedRows(items);
    if (rows.empty()) return;
    in_row_.clear();
    for (const Row& row : rows) in_row_.insert(row.begin(), row.end());
    const std::size_t named = rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) AddReaders(items, rows, i);
    for (std::size_t i = 0; i < rows.size(); ++i) AddProducers(items, rows, i);
    for (std::size_t i = named; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < items.size(); ++k) {
        bounds_.PutInside(tree_, rows[i][k], items[k]);
      }
    }
  }

  // Whether the nodes may be the items' own. A loop that collects results does
  // the same behind every item, and no item owns it.
  bool MayOwn(const std::vector<ModuleId>& items, const Row& row) const {
    if (hierarchy::IsNumeric(tree_.Atom(items[0]))) return LeadsOn(items, row);
    return !ReadsElsewhere(items, row);
  }

  // Whether one of the nodes reads what another module made, too.
  bool ReadsElsewhere(const std::vector<ModuleId>& items,
                      const Row& row) const {
    for (std::size_t k = 0; k < items.size() && k < kFew; ++k) {
      if (row[k] == kNo<NodeId>) return true;
      std::vector<NodeId> nodes = {row[k]};
      for (std::size_t i = 0; i < nodes.size() && nodes.size() < kNear; ++i) {
        for (const ValueId input : model_.Inputs(nodes[i])) {
          const NodeId producer = ProducerOf(model_, input);
          if (producer == kNo<NodeId> || !data_.Contains(input)) continue;
          if (IsKnown(placed_[producer])) {
            if (!tree_.IsAncestor(items[k], placed_[producer].module)) {
              return true;
            }
          } else if (!in_row_.contains(producer) &&
                     std::find(nodes.begin(), nodes.end(), producer) ==
                         nodes.end()) {
            nodes.push_back(producer);
          }
        }
      }
    }
    return false;
  }

  // Whether what one of the nodes makes is used in another item.
  bool LeadsOn(const std::vector<ModuleId>& items, const Row& row) const {
    const ModuleId list = tree_.Parent(items[0]);
    for (std::size_t k = 0; k < items.size() && k < kFew; ++k) {
      if (row[k] == kNo<NodeId>) return false;
      std::vector<NodeId> nodes = {row[k]};
      for (std::size_t i = 0; i < nodes.size() && nodes.size() < kNear; ++i) {
        for (const ValueId output : model_.Outputs(nodes[i])) {
          if (!data_.Contains(output)) continue;
          for (const NodeId reader : model_.Consumers(output)) {
            if (!IsKnown(placed_[reader])) {
              if (std::find(nodes.begin(), nodes.end(), reader) ==
                  nodes.end()) {
                nodes.push_back(reader);
              }
              continue;
            }
            const ModuleId module = placed_[reader].module;
            if (tree_.IsAncestor(list, module) &&
                !tree_.IsAncestor(items[k], module)) {
              return true;
            }
          }
        }
      }
    }
    return false;
  }

  // The named nodes that all items have; none if items are not alike.
  std::vector<Row> NamedRows(const std::vector<ModuleId>& items) const {
    std::map<std::string, std::vector<Row>> places;
    std::size_t most = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
      std::map<std::string, std::size_t> taken;
      most = std::max(most, named_[items[k]].size());
      for (const NodeId node : named_[items[k]]) {
        const std::string place = PlaceOf(node, items[k]);
        const std::size_t nth = taken[place]++;
        std::vector<Row>& rows = places[place];
        if (nth >= rows.size()) rows.resize(nth + 1);
        if (rows[nth].size() == k) rows[nth].push_back(node);
      }
    }
    std::vector<Row> full;
    for (auto& [place, rows] : places) {
      for (Row& row : rows) {
        if (row.size() == items.size()) full.push_back(std::move(row));
      }
    }
    if (full.size() * 2 < most) full.clear();
    return full;
  }

  // Whether an item may have the node: nobody has, or the item itself.
  bool IsFree(NodeId node, ModuleId item) const {
    if (node == kNo<NodeId> || !data_.IsMadeBy(node) ||
        in_row_.contains(node)) {
      return false;
    }
    if (placed_[node].tagged()) {
      return !IsKnown(placed_[node]) &&
             tree_.IsAncestor(item, placed_[node].module);
    }
    const ModuleId inside = bounds_.inside[node];
    return inside == kNo<ModuleId> || tree_.IsAncestor(inside, item) ||
           tree_.IsAncestor(item, inside);
  }

  // The row, where its nodes are all free, different and of one operator.
  void AddRow(const std::vector<ModuleId>& items, std::vector<Row>& rows,
              Row row) {
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (!IsFree(row[k], items[k]) ||
          model_.OpType(row[k]) != model_.OpType(row[0])) {
        return;
      }
    }
    if (std::set<NodeId>(row.begin(), row.end()).size() != row.size()) return;
    in_row_.insert(row.begin(), row.end());
    rows.push_back(std::move(row));
  }

  void AddReaders(const std::vector<ModuleId>& items, std::vector<Row>& rows,
                  std::size_t at) {
    const Row row = rows[at];
    const auto outputs = model_.Outputs(row[0]);
    for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
      if (!data_.Contains(outputs[slot])) continue;
      for (const NodeId reader : model_.Consumers(outputs[slot])) {
        Row next;
        for (const NodeId node : row) {
          const auto values = model_.Outputs(node);
          next.push_back(slot < values.size() && data_.Contains(values[slot])
                             ? OnlyReader(values[slot], model_.OpType(reader))
                             : kNo<NodeId>);
        }
        if (next[0] == reader && !BeginsNorm(reader) && MayOwn(items, next)) {
          AddRow(items, rows, std::move(next));
        }
      }
    }
  }

  // Whether a norm begins here that has lost its name: what comes next begins
  // with it.
  bool BeginsNorm(NodeId node) const {
    if (model_.OpType(node).ends_with("Normalization")) return true;
    const NodeId next = OnlyConsumer(model_, node);
    return model_.OpType(node) == "Reshape" && next != kNo<NodeId> &&
           model_.OpType(next) == "InstanceNormalization";
  }

  void AddProducers(const std::vector<ModuleId>& items, std::vector<Row>& rows,
                    std::size_t at) {
    const Row row = rows[at];
    for (std::size_t slot = 0; slot < model_.Inputs(row[0]).size(); ++slot) {
      Row next;
      for (std::size_t k = 0; k < items.size(); ++k) {
        const auto inputs = model_.Inputs(row[k]);
        const NodeId producer =
            slot < inputs.size() && data_.Contains(inputs[slot])
                ? ProducerOf(model_, inputs[slot])
                : kNo<NodeId>;
        next.push_back(producer != kNo<NodeId> &&
                               !IsPool(evidence_, producer) &&
                               IsReadIn(producer, items[k])
                           ? producer
                           : kNo<NodeId>);
      }
      AddRow(items, rows, std::move(next));
    }
  }

  bool IsReadIn(NodeId node, ModuleId item) const {
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      if (model_[output].is_output) return false;
      for (const NodeId reader : model_.Consumers(output)) {
        const ModuleId inside = bounds_.inside[reader];
        if (data_.IsMadeBy(reader) && !in_row_.contains(reader) &&
            (inside == kNo<ModuleId> || !tree_.IsAncestor(item, inside))) {
          return false;
        }
      }
    }
    return true;
  }

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
    // What has a name here and none there is hardly the same operation of a
    // leaf.
    const bool leaf = IsKnown(placed_[a]) && module != from &&
                      tree_.Children(module).empty() &&
                      !HasHiddenWeight(evidence_, b);
    bounds_.PutInside(tree_, b,
                      Moved(leaf ? tree_.Parent(module) : module, from, to));
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

  IdVector<ModuleId, std::vector<NodeId>> named_;  // below it, too
  std::vector<std::pair<NodeId, NodeId>> pairs_;
  std::set<NodeId> seen_;
  std::set<NodeId> in_row_;
};

}  // namespace

void BoundByLikeness(const BoundsFinder& finder) { LikeLayers(finder).Run(); }

}  // namespace onnx_tag
