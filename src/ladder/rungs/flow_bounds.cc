#include <algorithm>
#include <array>

#include "graph/recurrent.h"
#include "ladder/rungs/call_regions.h"
#include "ladder/rungs/graph_patterns.h"
#include "ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

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

class FlowBounds : BoundsFinder {
 public:
  explicit FlowBounds(const BoundsFinder& finder) : BoundsFinder(finder) {}

  void Run() {
    FindRepeated();
    before_.resize(model_.node_count());
    behind_.resize(model_.node_count());
    const std::vector<NodeId>& nodes = bounds_.order.nodes;
    for (const NodeId node : nodes) LookBack(node);
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) LookAhead(*at);
    for (const NodeId node : nodes) {
      if (placed_[node].tagged() || !data_.IsMadeBy(node)) continue;
      Bound(node);
    }
  }

 private:
  void LookBack(NodeId node) {
    if (!data_.IsMadeBy(node)) return;
    const auto later = [&](NodeId a, NodeId b) {
      return bounds_.order.rank[a] > bounds_.order.rank[b];
    };
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = ProducerOf(model_, input);
      if (producer == kNo<NodeId> || !data_.Contains(input)) continue;
      if (IsKnown(placed_[producer])) {
        before_[node].Add(producer, later);
        continue;
      }
      for (const NodeId other : before_[producer]) {
        before_[node].Add(other, later);
      }
    }
  }

  void LookAhead(NodeId node) {
    const auto earlier = [&](NodeId a, NodeId b) {
      return bounds_.order.rank[a] < bounds_.order.rank[b];
    };
    for (const ValueId output : model_.Outputs(node)) {
      if (!data_.Contains(output)) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (IsKnown(placed_[reader])) {
          behind_[node].Add(reader, earlier);
          continue;
        }
        for (const NodeId other : behind_[reader]) {
          behind_[node].Add(other, earlier);
        }
      }
    }
  }

  void Bound(NodeId node) {
    ModuleId deepest = ModuleId{0};
    for (const NodeId before : before_[node]) {
      for (const NodeId behind : behind_[node]) {
        const ModuleId around = evidence_.CommonCaller(placed_[before].module,
                                                       placed_[behind].module);
        if (tree_.Depth(around) > tree_.Depth(deepest) && !repeated_[around]) {
          deepest = around;
        }
      }
    }
    if (deepest != ModuleId{0}) bounds_.PutInside(tree_, node, deepest);
  }

  // Finds modules that run more than once: most of their parameters are used
  // twice. A recurrent module uses its weights at every step of one run.
  void FindRepeated() {
    IdVector<ModuleId, std::uint32_t> once(tree_.size(), 0);
    IdVector<ModuleId, std::uint32_t> again(tree_.size(), 0);
    for (const Parameter& parameter : evidence_.parameters) {
      const bool steps = RecurrentKind(parameter.name) == Recurrent::kLayer;
      ++(parameter.uses > 1 && !steps ? again : once)[parameter.module];
    }
    // Children have larger ids than their parents.
    for (std::size_t i = tree_.size(); --i > 0;) {
      const ModuleId parent = tree_.Parent(MakeId<ModuleId>(i));
      once[parent] += once[MakeId<ModuleId>(i)];
      again[parent] += again[MakeId<ModuleId>(i)];
    }
    repeated_ = IdVector<ModuleId, bool>(tree_.size(), false);
    for (const ModuleId id : AllIds<ModuleId>(tree_.size())) {
      repeated_[id] = again[id] > once[id];
    }
  }

  IdVector<ModuleId, bool> repeated_;
  IdVector<NodeId, Nearest> before_;
  IdVector<NodeId, Nearest> behind_;
};

}  // namespace

void BoundByFlow(const BoundsFinder& finder) { FlowBounds(finder).Run(); }

Bounds FindBounds(const Evidence& evidence, const Placed& placed,
                  const DataValues& data) {
  Bounds bounds(evidence.model.node_count());
  bounds.order = FindRunOrder(evidence, placed, data);
  const BoundsFinder finder(evidence, placed, data, bounds);
  BoundByTwins(finder);
  BoundByFlow(finder);
  BoundByRegions(finder);
  BoundByLikeness(finder);
  return bounds;
}

}  // namespace onnx_tag
