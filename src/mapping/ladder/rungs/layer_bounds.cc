#include "mapping/ladder/rungs/layer_bounds.h"

#include <algorithm>
#include <array>

#include "core/graph/order.h"
#include "core/graph/recurrent.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// How far it is, in the tree of modules, along the named nodes.
std::size_t Wandering(const Evidence& evidence, const Placed& placed,
                      const DataValues& data,
                      const std::vector<NodeId>& nodes) {
  const ModuleTree& tree = evidence.modules;
  std::size_t steps = 0;
  ModuleId last = ModuleId{0};
  for (const NodeId node : nodes) {
    if (!IsKnown(placed[node]) || !data.IsMadeBy(node)) continue;
    const ModuleId module = placed[node].module;
    const ModuleId common = tree.CommonAncestor(last, module);
    steps += tree.Depth(last) + tree.Depth(module) - 2 * tree.Depth(common);
    last = module;
  }
  return steps;
}

// Whether modules run again and again, as recurrent ones do: asked for its
// outputs such a model would run each to the end before the next.
bool IsRecurrent(const Evidence& evidence) {
  std::size_t again = 0;
  for (const Parameter& parameter : evidence.parameters) {
    again += parameter.uses > 1 && parameter.trusted;
  }
  return again * 3 > evidence.parameters.size();
}

// Whether constants stand where they are used, as exporters write them. Tools
// that sort nodes anew put them elsewhere.
bool IsAsWritten(const Model& model, const std::vector<NodeId>& nodes) {
  constexpr std::size_t kLeast = 8;
  constexpr std::uint32_t kNear = 16;
  std::size_t constants = 0;
  std::size_t near = 0;
  for (const NodeId node : nodes) {
    if (model.OpType(node) != "Constant") continue;
    ++constants;
    const auto outputs = model.Outputs(node);
    if (outputs.empty() || outputs[0] == kNo<ValueId>) continue;
    for (const NodeId reader : model.Consumers(outputs[0])) {
      if (Index(reader) - Index(node) > kNear) continue;
      ++near;
      break;
    }
  }
  return constants >= kLeast && near * 10 >= constants * 8;
}

}  // namespace

RunOrder FindRunOrder(const Evidence& evidence, const Placed& placed,
                      const DataValues& data) {
  const Model& model = evidence.model;
  RunOrder order;
  order.nodes = model[GraphId{0}].nodes;
  if (!IsRecurrent(evidence) && !IsAsWritten(model, order.nodes)) {
    std::vector<NodeId> other = DepthFirstOrder(model, GraphId{0});
    const std::size_t file = Wandering(evidence, placed, data, order.nodes);
    if (Wandering(evidence, placed, data, other) * 10 < file * 9) {
      order.nodes = std::move(other);
      order.as_written = false;
    }
  }
  order.rank.resize(model.node_count(), 0);
  for (const NodeId node : model.Nodes()) {
    order.rank[node] = static_cast<std::uint32_t>(node);
  }
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    order.rank[order.nodes[i]] = static_cast<std::uint32_t>(i);
  }
  return order;
}

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
