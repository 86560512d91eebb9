#include "mapping/mapping/order_modules.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "core/graph/order.h"
#include "core/hierarchy/roll_up.h"

namespace onnx_tag {
namespace {

constexpr std::uint32_t kNever = kNotCalled;

using Times = IdVector<NodeId, std::uint32_t>;
using Ranks = IdVector<ModuleId, std::uint32_t>;

void Lower(std::uint32_t& to, std::uint32_t from) { to = std::min(to, from); }

// All nodes in the order in which they run, those of bodies behind the node
// that runs them first.
class RunOrder {
 public:
  explicit RunOrder(const GraphFacts& graph)
      : graph_(graph),
        by_graph_(graph.model.graph_count()),
        entered_(graph.model.graph_count(), false) {
    const Model& model = graph.model;
    order_.reserve(model.node_count());
    for (const NodeId node : ExecutionOrder(model)) {
      by_graph_[model[node].graph].push_back(node);
    }
    // The main graph is the first. The others are left if nobody runs them.
    for (const GraphId id : model.Graphs()) Walk(id);
  }

  std::vector<NodeId> Take() { return std::move(order_); }

 private:
  void Enter(GraphId id) {
    if (entered_[id]) return;
    entered_[id] = true;
    open_.emplace_back(id, 0);
  }

  // Without recursion: hostile files nest deeper than the stack.
  void Walk(GraphId top) {
    Enter(top);
    while (!open_.empty()) {
      auto& [id, next] = open_.back();
      if (next == by_graph_[id].size()) {
        open_.pop_back();
        continue;
      }
      const NodeId node = by_graph_[id][next++];
      order_.push_back(node);
      const GraphId body = graph_.calls.BodyOf(graph_.model, node);
      if (body != kNo<GraphId>) Enter(body);
      const auto subgraphs = graph_.model.Subgraphs(node);
      // The last one entered is walked first.
      for (std::size_t i = subgraphs.size(); i-- > 0;) Enter(subgraphs[i]);
    }
  }

  const GraphFacts& graph_;
  IdVector<GraphId, std::vector<NodeId>> by_graph_;
  IdVector<GraphId, bool> entered_;
  std::vector<std::pair<GraphId, std::size_t>> open_;  // with the next node
  std::vector<NodeId> order_;
};

// When a node runs. Constants and sizes have the time of the first node with
// data that needs them.
Times FindTimes(const GraphFacts& graph) {
  const Model& model = graph.model;
  const std::vector<NodeId> order = RunOrder(graph).Take();
  Times times(model.node_count(), kNever);
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId node = order[i];
    std::uint32_t& time = times[node];
    if (!graph.data.IsMadeBy(node)) {
      for (const ValueId output : model.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId reader : model.Consumers(output)) {
          Lower(time, times[reader]);
        }
      }
    }
    if (time == kNever) time = static_cast<std::uint32_t>(i);
  }
  return times;
}

// By module: the time of its first node with data, or of one without if it has
// no other. Modules without nodes follow the sibling before them.
Ranks RanksByNodes(const GraphFacts& graph, const Tagging& tagging) {
  const ModuleTree& tree = tagging.modules;
  const Times times = FindTimes(graph);
  Ranks ranks(tree.size(), kNever);
  Ranks without_data(tree.size(), kNever);
  const auto add = [&](NodeId node, ModuleId module) {
    Lower((graph.data.IsMadeBy(node) ? ranks : without_data)[module],
          times[node]);
  };
  for (const NodeId node : graph.model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    if (tag.tagged()) add(node, tag.module);
  }
  for (const Origin& origin : tagging.origins) add(origin.node, origin.module);
  RollUp(tree, ranks, Lower);
  RollUp(tree, without_data, Lower);
  Ranks before(tree.size(), 0);  // by parent: the rank of its last child
  for (const ModuleId id : tree.All()) {
    if (ranks[id] == kNever) ranks[id] = without_data[id];
    if (id == ModuleTree::kRoot) continue;
    std::uint32_t& last = before[tree.Parent(id)];
    if (ranks[id] == kNever) ranks[id] = last;
    last = ranks[id];
  }
  return ranks;
}

// Called modules change places among themselves; the others stay.
void SortByCalls(const ModuleTree& tree, const CallPlaces& calls,
                 Ranks& ranks) {
  Ranks called(tree.size(), kNotCalled);
  for (const ModuleId id : AllIds<ModuleId>(calls.size())) {
    called[id] = calls[id];
  }
  RollUp(tree, called, Lower);
  std::vector<ModuleId> children;
  std::vector<std::size_t> places;
  std::vector<ModuleId> sorted;
  for (const ModuleId id : tree.All()) {
    children.clear();
    places.clear();
    sorted.clear();
    for (const ModuleId child : tree.Children(id)) children.push_back(child);
    std::stable_sort(
        children.begin(), children.end(),
        [&](ModuleId a, ModuleId b) { return ranks[a] < ranks[b]; });
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (called[children[i]] == kNotCalled) continue;
      places.push_back(i);
      sorted.push_back(children[i]);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [&](ModuleId a, ModuleId b) {
      return called[a] < called[b];
    });
    for (std::size_t i = 0; i < places.size(); ++i) {
      children[places[i]] = sorted[i];
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      ranks[children[i]] = static_cast<std::uint32_t>(i);
    }
  }
}

// All modules: depth first, siblings by rank; those left out come last.
std::vector<ModuleId> Arranged(const ModuleTree& tree, const Ranks& ranks) {
  std::vector<ModuleId> order;
  order.reserve(tree.size());
  IdVector<ModuleId, bool> listed(tree.size(), false);
  std::vector<ModuleId> open = {ModuleTree::kRoot};
  std::vector<ModuleId> children;
  while (!open.empty()) {
    const ModuleId id = open.back();
    open.pop_back();
    order.push_back(id);
    listed[id] = true;
    children.clear();
    for (const ModuleId child : tree.Children(id)) children.push_back(child);
    std::stable_sort(
        children.begin(), children.end(),
        [&](ModuleId a, ModuleId b) { return ranks[a] < ranks[b]; });
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (!listed[id]) order.push_back(id);
  }
  return order;
}

// The items of a list by module, in the new order. It may be shorter than the
// tree.
template <typename T>
void Move(const ModuleIds& new_ids, IdVector<ModuleId, T>& items) {
  if (items.empty()) return;
  IdVector<ModuleId, T> moved(new_ids.size());
  for (const ModuleId id : AllIds<ModuleId>(items.size())) {
    moved[new_ids[id]] = std::move(items[id]);
  }
  items = std::move(moved);
}

// Gives the modules the ids of their places in `order`.
ModuleIds Renumber(const std::vector<ModuleId>& order, Tagging& tagging) {
  const ModuleTree& old = tagging.modules;
  ModuleTree tree;
  ModuleIds new_ids(old.size(), ModuleTree::kRoot);
  for (const ModuleId id : order) {
    if (id != ModuleTree::kRoot) {
      new_ids[id] = tree.Child(new_ids[old.Parent(id)], old.Atom(id));
    }
    tree.SetClass(new_ids[id], old.Class(id));
  }
  IdVector<ModuleId, bool> kept(old.size(), false);
  for (const ModuleId id : old.All()) kept[new_ids[id]] = true;
  tree.KeepOnly(kept);
  tagging.modules = std::move(tree);
  Move(new_ids, tagging.facts);
  Move(new_ids, tagging.given);
  for (Tag& tag : tagging.tags) {
    if (tag.tagged()) tag.module = new_ids[tag.module];
  }
  for (Origin& origin : tagging.origins) {
    origin.module = new_ids[origin.module];
  }
  for (FoundBlock& block : tagging.found) block.module = new_ids[block.module];
  SortBy(tagging.found, &FoundBlock::module);
  for (CallSite& call : tagging.call_sites) {
    if (call.module != kNo<ModuleId>) call.module = new_ids[call.module];
  }
  return new_ids;
}

}  // namespace

CallPlaces PlacesOfCalls(const KnownModules& known, const ModuleTree& modules) {
  CallPlaces places;
  if (known.map == nullptr || known.map->calls.empty()) return places;
  places.resize(modules.size(), kNotCalled);
  std::uint32_t count = 0;
  for (const ModuleCall& call : known.map->calls) {
    const ModuleId module = known.in_file[call.module];
    if (module != kNo<ModuleId>) Lower(places[module], count++);
  }
  return places;
}

ModuleIds OrderModules(const GraphFacts& graph, const CallPlaces& calls,
                       Tagging& tagging) {
  Ranks ranks = RanksByNodes(graph, tagging);
  if (!calls.empty()) SortByCalls(tagging.modules, calls, ranks);
  return Renumber(Arranged(tagging.modules, ranks), tagging);
}

}  // namespace onnx_tag
