#include "mapping/ladder/rungs/layer_bounds.h"

#include <algorithm>
#include <array>

#include "core/graph/order.h"

namespace onnx_tag {
namespace {

// In which order the nodes ran: the file's order, or depth first from the
// outputs, where that keeps the named nodes of modules together and the file
// does not. Tools sort nodes anew.
class RunOrderFinder : RungBase {
 public:
  using RungBase::RungBase;

  RunOrder Run() const {
    RunOrder order;
    order.nodes = model_[GraphId{0}].nodes;
    if (!IsRecurrent()) {
      std::vector<NodeId> other = DepthFirstOrder(model_, GraphId{0});
      if (TreeDistanceAlong(other) * 10 < TreeDistanceAlong(order.nodes) * 9) {
        order.nodes = std::move(other);
        order.as_written = false;
      }
    }
    order.rank.resize(model_.node_count(), 0);
    for (const NodeId node : model_.Nodes()) {
      order.rank[node] = static_cast<std::uint32_t>(node);
    }
    for (std::size_t i = 0; i < order.nodes.size(); ++i) {
      order.rank[order.nodes[i]] = static_cast<std::uint32_t>(i);
    }
    return order;
  }

 private:
  // Whether modules run again and again, as recurrent ones do: asked for its
  // outputs such a model would run each to the end before the next.
  bool IsRecurrent() const {
    std::size_t again = 0;
    for (const Parameter& parameter : evidence_.parameters) {
      again += parameter.uses > 1 && parameter.trusted;
    }
    return again * 3 > evidence_.parameters.size();
  }

  // How far it is, in the tree of modules, along the named nodes.
  std::size_t TreeDistanceAlong(const std::vector<NodeId>& nodes) const {
    std::size_t steps = 0;
    ModuleId last = kRoot;
    for (const NodeId node : nodes) {
      if (!IsKnown(node) || !IsData(node)) continue;
      const ModuleId module = placed_[node].module;
      const ModuleId common = tree_.CommonAncestor(last, module);
      steps +=
          tree_.Depth(last) + tree_.Depth(module) - 2 * tree_.Depth(common);
      last = module;
    }
    return steps;
  }
};

// The nearest placed nodes upstream or downstream.
class Nearest {
 public:
  // `closer`: whether the first is nearer than the second.
  template <typename Closer>
  void Add(NodeId node, Closer closer) {
    const auto end = nodes_.begin() + static_cast<std::ptrdiff_t>(size_);
    const auto at = std::find_if(nodes_.begin(), end, [&](NodeId other) {
      return !closer(other, node);
    });
    if (at == nodes_.end() || (at != end && *at == node)) return;
    size_ = std::min(size_ + 1, nodes_.size());
    std::move_backward(at,
                       nodes_.begin() + static_cast<std::ptrdiff_t>(size_) - 1,
                       nodes_.begin() + static_cast<std::ptrdiff_t>(size_));
    *at = node;
  }

  const NodeId* begin() const { return nodes_.data(); }
  const NodeId* end() const { return nodes_.data() + size_; }

 private:
  // A residual stream reaches every layer; only the nearest few matter.
  std::array<NodeId, 6> nodes_{};
  std::size_t size_ = 0;
};

// The dataflow: the deepest module that has a node upstream and a node
// downstream.
class FlowBounds : BoundsFinder {
 public:
  explicit FlowBounds(const BoundsFinder& finder)
      : BoundsFinder(finder),
        before_(model_.node_count()),
        behind_(model_.node_count()) {}

  void Run() {
    FindRepeated();
    const std::vector<NodeId>& nodes = bounds_.order.nodes;
    const IdVector<NodeId, std::uint32_t>& rank = bounds_.order.rank;
    const auto later = [&](NodeId a, NodeId b) { return rank[a] > rank[b]; };
    const auto earlier = [&](NodeId a, NodeId b) { return rank[a] < rank[b]; };
    for (const NodeId node : nodes) {
      for (const NodeId maker : MakersOf(node)) {
        Pass(maker, before_, later, before_[node]);
      }
    }
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
      if (!IsData(*at)) continue;
      for (const NodeId reader : ReadersOf(*at)) {
        Pass(reader, behind_, earlier, behind_[*at]);
      }
    }
    for (const NodeId node : nodes) {
      if (IsOpen(node) && IsData(node)) Bound(node);
    }
  }

 private:
  // The node itself if it is known, or else what is near to it.
  template <typename Closer>
  void Pass(NodeId from, const IdVector<NodeId, Nearest>& near,
            const Closer& closer, Nearest& to) const {
    if (IsKnown(from)) {
      to.Add(from, closer);
      return;
    }
    for (const NodeId other : near[from]) to.Add(other, closer);
  }

  void Bound(NodeId node) {
    ModuleId deepest = kRoot;
    for (const NodeId before : before_[node]) {
      for (const NodeId behind : behind_[node]) {
        const ModuleId around = evidence_.CommonCaller(placed_[before].module,
                                                       placed_[behind].module);
        if (tree_.Depth(around) > tree_.Depth(deepest) && !repeated_[around]) {
          deepest = around;
        }
      }
    }
    if (deepest != kRoot) PutInside(node, deepest);
  }

  // Finds modules that run more than once: most of their parameters are used
  // twice.
  void FindRepeated() {
    // Parameters that are used again, less those that are used once.
    IdVector<ModuleId, std::int64_t> again(tree_.size(), 0);
    for (const Parameter& parameter : evidence_.parameters) {
      again[parameter.module] += parameter.uses > 1 ? 1 : -1;
    }
    // Children have larger ids than their parents.
    for (std::size_t i = tree_.size(); --i > 0;) {
      again[tree_.Parent(MakeId<ModuleId>(i))] += again[MakeId<ModuleId>(i)];
    }
    repeated_ = IdVector<ModuleId, bool>(tree_.size(), false);
    for (const ModuleId id : AllIds<ModuleId>(tree_.size())) {
      repeated_[id] = again[id] > 0;
    }
  }

  IdVector<ModuleId, bool> repeated_;
  IdVector<NodeId, Nearest> before_;
  IdVector<NodeId, Nearest> behind_;
};

}  // namespace

BoundsFinder::NamedNodes BoundsFinder::FindNamed() const {
  NamedNodes named(tree_.size());
  for (const NodeId node : bounds_.order.nodes) {
    if (!IsKnown(node) || !IsData(node)) continue;
    for (ModuleId at = placed_[node].module; at != kRoot;
         at = tree_.Parent(at)) {
      named[at].push_back(node);
    }
  }
  return named;
}

Bounds FindBounds(const Evidence& evidence, const Placed& placed) {
  Bounds bounds;
  bounds.order = RunOrderFinder(evidence, placed).Run();
  bounds.inside.resize(evidence.model.node_count(), kNo<ModuleId>);
  const BoundsFinder finder(evidence, placed, bounds);
  FlowBounds(finder).Run();
  BoundByRegions(finder);
  BoundByLikeness(finder);
  return bounds;
}

}  // namespace onnx_tag
