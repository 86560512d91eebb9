#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "mapping/ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

// More values than this cross no border of a module.
constexpr int kMostCrossing = 32;
// What is looked at for one call; a call that needs more is left out.
constexpr std::size_t kMostStates = 20000;
// And for all of them, for each node of the model.
constexpr std::size_t kStatesPerNode = 200;

// The smallest set of nodes around the named ones of a call with the fewest
// values that cross its border: a minimum cut, where a value that has a node on
// either side costs one.
class Cut : RungBase {
 public:
  Cut(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        source_(model_.node_count(), 0),
        reached_(model_.node_count(), 0),
        values_(model_.value_count()) {}

  // The free nodes of the set; empty if it took too much.
  std::vector<NodeId> Around(const std::vector<NodeId>& sources) {
    ++call_;
    states_ = 0;
    for (const NodeId node : sources) source_[node] = call_;
    for (int crossing = 0; crossing <= kMostCrossing; ++crossing) {
      if (!Reach(sources)) {
        std::vector<NodeId> nodes;
        for (const State& state : queue_) {
          const NodeId node = MakeId<NodeId>(state.id);
          if (state.kind == Kind::kNode && source_[node] != call_) {
            nodes.push_back(node);
          }
        }
        return states_ > kMostStates ? std::vector<NodeId>() : nodes;
      }
      if (states_ > kMostStates) return {};
      Augment();
    }
    return {};
  }

  std::size_t states() const { return states_; }

 private:
  enum class Kind : std::uint8_t { kNode, kIn, kOut };
  static constexpr std::uint32_t kStart = static_cast<std::uint32_t>(-1);
  struct State {
    std::uint32_t id;
    Kind kind;
    std::uint32_t from;  // in the queue
  };
  // What one value carries: a unit of flow from one node to another.
  struct Value {
    std::uint32_t call = 0;  // the other fields are of this call
    std::uint32_t in = 0;    // the search that reached its entry
    std::uint32_t out = 0;   // and its exit
    bool full = false;
    NodeId from = kNo<NodeId>;
    NodeId to = kNo<NodeId>;  // kNo: out of the module
  };

  Value& At(ValueId id) {
    Value& value = values_[id];
    if (value.call != call_) value = {.call = call_};
    return value;
  }

  // An unnamed weight belongs to an unknown module: stop here.
  bool IsOutside(NodeId node) const {
    return source_[node] != call_ &&
           (IsKnown(node) || ReadsConstantWeight(node));
  }

  void Push(std::uint32_t id, Kind kind, std::uint32_t from) {
    queue_.push_back({id, kind, from});
    ++states_;
  }
  void PushNode(NodeId node, std::uint32_t from) {
    if (reached_[node] == search_) return;
    reached_[node] = search_;
    Push(static_cast<std::uint32_t>(node), Kind::kNode, from);
  }
  void PushIn(ValueId id, std::uint32_t from) {
    Value& value = At(id);
    if (value.in == search_) return;
    value.in = search_;
    Push(static_cast<std::uint32_t>(id), Kind::kIn, from);
  }
  void PushOut(ValueId id, std::uint32_t from) {
    Value& value = At(id);
    if (value.out == search_) return;
    value.out = search_;
    Push(static_cast<std::uint32_t>(id), Kind::kOut, from);
  }

  // Whether there is a way from the sources out of the module that is not
  // taken yet; it ends with the last state of the queue.
  bool Reach(const std::vector<NodeId>& sources) {
    ++search_;
    queue_.clear();
    for (const NodeId node : sources) PushNode(node, kStart);
    for (std::uint32_t at = 0; at < queue_.size(); ++at) {
      if (states_ > kMostStates) return false;
      const State state = queue_[at];
      switch (state.kind) {
        case Kind::kNode:
          FromNode(MakeId<NodeId>(state.id), at);
          break;
        case Kind::kIn: {
          const ValueId id = MakeId<ValueId>(state.id);
          if (!At(id).full) {
            PushOut(id, at);
          } else if (At(id).from != kNo<NodeId>) {
            PushNode(At(id).from, at);
          }
          break;
        }
        case Kind::kOut:
          if (FromOut(MakeId<ValueId>(state.id), at)) {
            last_ = at;
            return true;
          }
          break;
      }
    }
    return false;
  }

  void FromNode(NodeId node, std::uint32_t at) {
    const auto take = [&](ValueId id) {
      if (!data_.Contains(id)) return;
      PushIn(id, at);
      if (At(id).full && At(id).to == node) PushOut(id, at);
    };
    for (const ValueId id : model_.Inputs(node)) take(id);
    for (const ValueId id : model_.Outputs(node)) take(id);
  }

  // Whether the value leads out of the module.
  bool FromOut(ValueId id, std::uint32_t at) {
    const NodeId producer = model_.Producer(id);
    if (producer == kNo<NodeId> || model_[id].is_output ||
        IsOutside(producer)) {
      return true;
    }
    PushNode(producer, at);
    for (const NodeId reader : model_.Consumers(id)) {
      if (!IsData(reader)) {
        ++states_;  // there may be as many as the file has nodes
        continue;
      }
      if (IsOutside(reader)) return true;
      PushNode(reader, at);
    }
    if (At(id).full) PushIn(id, at);
    return false;
  }

  void Augment() {
    path_.clear();
    for (std::uint32_t at = last_; at != kStart; at = queue_[at].from) {
      path_.push_back(queue_[at]);
    }
    std::reverse(path_.begin(), path_.end());
    const auto node_at = [&](std::size_t i) {
      return i < path_.size() ? MakeId<NodeId>(path_[i].id) : kNo<NodeId>;
    };
    for (std::size_t i = 0; i + 1 < path_.size();) {
      Value& value = At(MakeId<ValueId>(path_[i + 1].id));
      const bool enters = path_[i + 1].kind == Kind::kIn;
      const bool turns =
          i + 2 < path_.size() && path_[i + 2].kind == Kind::kNode;
      if (enters && turns) {  // another node feeds what flows already
        value.from = node_at(i);
        i += 2;
      } else if (enters) {
        value.full = true;
        value.from = node_at(i);
        value.to = node_at(i + 3);
        i += 3;
      } else if (turns || i + 2 >= path_.size()) {  // it flows elsewhere
        value.to = node_at(i + 2);
        i += 2;
      } else {  // back to where it came from
        value.full = false;
        i += 3;
      }
    }
  }

  IdVector<NodeId, std::uint32_t> source_;   // of which call
  IdVector<NodeId, std::uint32_t> reached_;  // in which search
  IdVector<ValueId, Value> values_;
  std::vector<State> queue_;
  std::vector<State> path_;
  std::uint32_t call_ = 0;
  std::uint32_t search_ = 0;
  std::uint32_t last_ = 0;
  std::size_t states_ = 0;
};

class CallRegions : BoundsFinder {
 public:
  explicit CallRegions(const BoundsFinder& finder)
      : BoundsFinder(finder),
        named_(FindNamed()),
        own_arithmetic_(ModulesWithArithmetic()),
        uses_(tree_.size()) {}

  void Run() {
    for (const Parameter& parameter : evidence_.parameters) {
      if (parameter.uses == 0) continue;
      for (ModuleId at = parameter.module; at != kRoot; at = tree_.Parent(at)) {
        ++uses_[at][parameter.uses];
      }
    }
    Cut cut(evidence_, placed_);
    std::size_t left = kStatesPerNode * model_.node_count();
    // Parents come before their children, so that deeper answers are last.
    for (const ModuleId module : AllIds<ModuleId>(tree_.size())) {
      if (named_[module].empty() || !HasRegion(module)) continue;
      for (const std::vector<NodeId>& call : CallsOf(module)) {
        for (const NodeId node : cut.Around(call)) {
          if (IsOpen(node)) PutInside(node, module);
        }
        if (cut.states() > left) return;
        left -= cut.states();
      }
    }
  }

 private:
  bool HasRegion(ModuleId module) const {
    return module != kRoot && Callable(module) == module &&
           (!IsLeaf(module) || own_arithmetic_[module]);
  }

  // How often it runs: as often as most of its parameters are used.
  std::uint32_t TimesCalled(ModuleId module) const {
    std::uint32_t times = 1;
    std::uint32_t most = 0;
    for (const auto& [uses, parameters] : uses_[module]) {
      if (parameters > most) {
        times = uses;
        most = parameters;
      }
    }
    return times;
  }

  // The named nodes of each call. A call that uses a parameter again is the
  // next one.
  std::vector<std::vector<NodeId>> CallsOf(ModuleId module) const {
    const std::uint32_t times = TimesCalled(module);
    if (times == 1) return {named_[module]};
    std::vector<std::vector<NodeId>> calls(1);
    std::set<const Parameter*> seen;
    for (const NodeId node : named_[module]) {
      std::vector<const Parameter*> used;
      bool again = false;
      for (const Parameter& parameter : evidence_.Among(model_.Inputs(node))) {
        if (parameter.uses != times) continue;
        again = again || seen.contains(&parameter);
        used.push_back(&parameter);
      }
      if (again) {
        calls.emplace_back();
        seen.clear();
      }
      seen.insert(used.begin(), used.end());
      calls.back().push_back(node);
    }
    if (calls.size() != times) calls.clear();
    return calls;
  }

  NamedNodes named_;
  IdVector<ModuleId, bool> own_arithmetic_;
  // How many of the parameters below it are used how often.
  IdVector<ModuleId, std::map<std::uint32_t, std::uint32_t>> uses_;
};

}  // namespace

void BoundByRegions(const BoundsFinder& finder) { CallRegions(finder).Run(); }

}  // namespace onnx_tag
