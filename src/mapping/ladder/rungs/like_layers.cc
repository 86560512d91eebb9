// What is known of one layer of a list is known of its twins.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

class LikeLayers : BoundsFinder {
 public:
  explicit LikeLayers(const BoundsFinder& finder)
      : BoundsFinder(finder),
        own_arithmetic_(ModulesWithArithmetic()),
        named_(FindNamed()) {}

  void Run() {
    for (const ModuleId list : AllIds<ModuleId>(tree_.size())) {
      std::vector<ModuleId> items;
      for (const ModuleId item : tree_.Children(list)) {
        if ((!IsLeaf(item) || own_arithmetic_[item]) && !named_[item].empty()) {
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
  static constexpr std::size_t kNear = 128;  // edges looked at behind a node
  static constexpr std::size_t kFew = 4;     // items that are looked at
  // A value that more nodes read says nothing about one of them.
  static constexpr std::size_t kMostReaders = 64;

  // Modules of one name and with the same parts whose owners differ: what goes
  // along with all of them is theirs, not the owners'.
  void ExtendNamesakes() {
    std::map<std::string, std::vector<ModuleId>> kinds;
    for (const ModuleId id : AllIds<ModuleId>(tree_.size())) {
      if (id == kRoot || named_[id].empty() || IsLeaf(id) ||
          hierarchy::IsNumeric(tree_.Atom(id))) {
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
    for (; module != kRoot; module = tree_.Parent(module)) {
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
    outside_.clear();
    for (const Row& row : rows) in_row_.insert(row.begin(), row.end());
    const std::size_t named = rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) AddReaders(items, rows, i);
    for (std::size_t i = 0; i < rows.size(); ++i) AddProducers(items, rows, i);
    for (std::size_t i = named; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < items.size(); ++k) {
        PutInside(rows[i][k], items[k]);
      }
    }
  }

  bool IsNumbered(const std::vector<ModuleId>& items) const {
    return hierarchy::IsNumeric(tree_.Atom(items[0]));
  }

  // Whether the nodes may be the items' own. A loop that collects results does
  // the same behind every item, and no item owns it.
  bool MayOwn(const std::vector<ModuleId>& items, const Row& row) const {
    return IsNumbered(items) ? LeadsOn(items, row)
                             : !ReadsElsewhere(items, row);
  }

  // Whether one of the nodes reads what another module made, too.
  bool ReadsElsewhere(const std::vector<ModuleId>& items,
                      const Row& row) const {
    bool elsewhere = false;
    for (std::size_t k = 0; k < items.size() && k < kFew; ++k) {
      if (row[k] == kNo<NodeId>) return true;
      WalkBack(row[k], kNear, [&](NodeId maker) {
        if (!IsKnown(maker)) return !in_row_.contains(maker);
        elsewhere |= !tree_.IsAncestor(items[k], placed_[maker].module);
        return false;
      });
    }
    return elsewhere;
  }

  // Whether one of the nodes brings together what others made: it is hardly the
  // item's own, which gets one value from its caller.
  bool MeetsOthers(const std::vector<ModuleId>& items, const Row& row) const {
    bool meets = false;
    for (std::size_t k = 0; k < items.size() && k < kFew && !meets; ++k) {
      NodeId other = kNo<NodeId>;
      WalkBack(row[k], kNear, [&](NodeId maker) {
        if (!IsKnown(maker)) return !in_row_.contains(maker);
        if (!tree_.IsAncestor(items[k], placed_[maker].module)) {
          meets |= other != kNo<NodeId> && other != maker;
          other = maker;
        }
        return false;
      });
    }
    return meets;
  }

  // Whether what one of the nodes makes is used in another item.
  bool LeadsOn(const std::vector<ModuleId>& items, const Row& row) const {
    const ModuleId list = tree_.Parent(items[0]);
    bool leads_on = false;
    for (std::size_t k = 0; k < items.size() && k < kFew; ++k) {
      if (row[k] == kNo<NodeId>) return false;
      WalkOn(row[k], kNear, [&](NodeId reader) {
        if (!IsKnown(reader)) return IsData(reader);
        const ModuleId module = placed_[reader].module;
        leads_on |= tree_.IsAncestor(list, module) &&
                    !tree_.IsAncestor(items[k], module);
        return false;
      });
      if (leads_on) return true;
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

  // Whether an item may have the node.
  bool IsFree(NodeId node, ModuleId item) const {
    if (node == kNo<NodeId> || !IsOpen(node) || !IsData(node) ||
        in_row_.contains(node)) {
      return false;
    }
    const ModuleId inside = bounds_.inside[node];
    return inside == kNo<ModuleId> || tree_.IsAncestor(inside, item) ||
           tree_.IsAncestor(item, inside);
  }

  // Whether the nodes of a row are all free, different and of one operator.
  bool IsRow(const std::vector<ModuleId>& items, const Row& row) const {
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (!IsFree(row[k], items[k]) || !IsSameOperator(row[k], row[0])) {
        return false;
      }
    }
    return std::set<NodeId>(row.begin(), row.end()).size() == row.size();
  }

  void AddRow(std::vector<Row>& rows, Row row) {
    in_row_.insert(row.begin(), row.end());
    rows.push_back(std::move(row));
  }

  void AddReaders(const std::vector<ModuleId>& items, std::vector<Row>& rows,
                  std::size_t at) {
    const Row row = rows[at];
    const auto outputs = model_.Outputs(row[0]);
    for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
      for (const NodeId reader : ReadersToFollow(outputs[slot])) {
        Row next;
        for (const NodeId node : row) {
          const auto values = model_.Outputs(node);
          next.push_back(slot < values.size()
                             ? Counterpart(reader, outputs[slot], values[slot])
                             : kNo<NodeId>);
        }
        if (!BeginsNorm(reader) && MayOwn(items, next) && IsRow(items, next)) {
          AddRow(rows, std::move(next));
        }
      }
    }
  }

  // Whether a norm begins here that has lost its name: what comes next begins
  // with it.
  bool BeginsNorm(NodeId node) const {
    return ops_.Is(node, OpKind::kNorm) ||
           (ops_[node] == Op::kReshape &&
            ops_.Is(OnlyConsumer(model_, node), {Op::kInstanceNormalization}));
  }

  void AddProducers(const std::vector<ModuleId>& items, std::vector<Row>& rows,
                    std::size_t at) {
    const Row row = rows[at];
    for (std::size_t slot = 0; slot < model_.Inputs(row[0]).size(); ++slot) {
      Row next;
      for (const NodeId node : row) {
        const auto inputs = model_.Inputs(node);
        const NodeId producer =
            slot < inputs.size() && data_.Contains(inputs[slot])
                ? ProducerOf(model_, inputs[slot])
                : kNo<NodeId>;
        next.push_back(producer != kNo<NodeId> && !IsPool(producer)
                           ? producer
                           : kNo<NodeId>);
      }
      // What feeds modules of one name may be made by others for them. Readers
      // are last, because a producer may have many.
      if (IsRow(items, next) &&
          (IsNumbered(items) || !MeetsOthers(items, next)) &&
          AreReadIn(items, next)) {
        AddRow(rows, std::move(next));
      }
    }
  }

  bool AreReadIn(const std::vector<ModuleId>& items, const Row& row) {
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (!IsReadIn(row[k], items[k])) return false;
    }
    return true;
  }

  // Rows are only added, so the readers outside are found once.
  bool IsReadIn(NodeId node, ModuleId item) {
    const auto [at, added] = outside_.try_emplace({node, item});
    std::vector<NodeId>& outside = at->second;
    if (added) {
      if (IsResult(node)) outside.push_back(kNo<NodeId>);
      for (const NodeId reader : ReadersOf(node)) {
        const ModuleId inside = bounds_.inside[reader];
        if (IsData(reader) &&
            (inside == kNo<ModuleId> || !tree_.IsAncestor(item, inside))) {
          outside.push_back(reader);
        }
      }
    }
    while (!outside.empty() && in_row_.contains(outside.back())) {
      outside.pop_back();
    }
    return outside.empty();
  }

  // Equal for nodes of twins that use the same parameters.
  std::string PlaceOf(NodeId node, ModuleId item) const {
    std::string place(model_.OpType(node));
    for (ModuleId at = placed_[node].module; at != item;
         at = tree_.Parent(at)) {
      place.append(" ").append(tree_.Atom(at));
    }
    for (const Parameter& parameter : evidence_.Among(model_.Inputs(node))) {
      place.append(" ").append(hierarchy::LastPart(parameter.name, '.'));
    }
    return place;
  }

  ModuleId ModuleOf(NodeId node) const {
    return IsOpen(node) ? bounds_.inside[node] : placed_[node].module;
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
        !IsSameOperator(a, b) || !IsOpen(b)) {
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
    const bool leaf = IsKnown(a) && module != from && IsLeaf(module) &&
                      !ReadsConstantWeight(b);
    PutInside(b, Moved(leaf ? tree_.Parent(module) : module, from, to));
    Pair(a, b);
  }

  void FollowReaders(ValueId a, ValueId b, ModuleId from, ModuleId to) {
    for (const NodeId reader : ReadersToFollow(a)) {
      const NodeId twin = Counterpart(reader, a, b);
      if (twin == kNo<NodeId> || !IsOpen(reader) || !IsData(reader)) continue;
      Follow(reader, twin, from, to);
    }
  }

  std::span<const NodeId> ReadersToFollow(ValueId value) const {
    if (!data_.Contains(value)) return {};
    const auto readers = model_.Consumers(value);
    return readers.size() > kMostReaders ? std::span<const NodeId>() : readers;
  }

  // The reader of `b` that does the same as `reader`, a reader of `a`: it has
  // the same place among the readers with this operator. kNo if one of the
  // values has more of them.
  NodeId Counterpart(NodeId reader, ValueId a, ValueId b) const {
    const std::vector<NodeId> here = ReadersLike(reader, a);
    const std::vector<NodeId> there = ReadersLike(reader, b);
    if (here.size() != there.size()) return kNo<NodeId>;
    const auto at = std::find(here.begin(), here.end(), reader);
    return there[static_cast<std::size_t>(at - here.begin())];
  }
  std::vector<NodeId> ReadersLike(NodeId node, ValueId value) const {
    std::vector<NodeId> readers;
    for (const NodeId reader : ReadersToFollow(value)) {
      if (IsSameOperator(reader, node)) readers.push_back(reader);
    }
    return readers;
  }

  IdVector<ModuleId, bool> own_arithmetic_;
  NamedNodes named_;
  std::vector<std::pair<NodeId, NodeId>> pairs_;
  std::set<NodeId> seen_;
  std::set<NodeId> in_row_;
  // The readers of a node that neither an item nor a row has.
  std::map<std::pair<NodeId, ModuleId>, std::vector<NodeId>> outside_;
};

}  // namespace

void BoundByLikeness(const BoundsFinder& finder) { LikeLayers(finder).Run(); }

}  // namespace onnx_tag
