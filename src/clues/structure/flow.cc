#include "clues/structure/flow.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "core/graph/neighbours.h"

namespace onnx_tag::structure {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

// Nodes that hand their first input on.
constexpr OpKinds kAliases = {OpKind::kIdentity, OpKind::kDropout,
                              OpKind::kQuantizer, OpKind::kDequantizer};

// Numbers the nodes of a graph that carry data, without aliases, so that each
// comes behind what it reads.
class Finder {
 public:
  Finder(const Model& model, GraphId graph, const Operators& ops,
         const HeavyNodes& heavy, const DataValues& data,
         const std::vector<OuterRead>& outer)
      : model_(model), ops_(ops), heavy_(heavy), data_(data) {
    const std::vector<NodeId>& nodes = model[graph].nodes;
    first_ = nodes.empty() ? 0 : Index(nodes.front());
    CollectOperands(nodes, outer);
    Sort(nodes);
  }

  Flow Find() {
    FindAttached();
    FindSide();
    Order();
    return std::move(flow_);
  }

 private:
  // Fills alias_ and reads_ by node, in the order of the file.
  void CollectOperands(const std::vector<NodeId>& nodes,
                       const std::vector<OuterRead>& outer) {
    const std::size_t span =
        nodes.empty() ? 0 : Index(nodes.back()) - first_ + 1;
    state_.assign(span, State::kAbsent);
    alias_.assign(span, kNo<NodeId>);
    std::vector<OuterRead> more = outer;
    std::stable_sort(more.begin(), more.end(),
                     [](const OuterRead& a, const OuterRead& b) {
                       return Index(a.to) < Index(b.to);
                     });
    auto next = more.begin();
    for (const NodeId node : nodes) {
      while (next != more.end() && Index(next->to) < Index(node)) ++next;
      const auto begin = next;
      while (next != more.end() && next->to == node) ++next;
      if (!CarriesData(node)) continue;
      if (ops_.Is(node, kAliases)) {
        const NodeId from =
            Resolve(ProducerOf(model_, FirstInput(model_, node)));
        if (from != kNo<NodeId>) {
          alias_[Local(node)] = from;
          flow_.attached.push_back({node, from});
          continue;
        }
      }
      state_[Local(node)] = State::kThere;
      raw_nodes_.push_back(node);
      for (const ValueId input : model_.Inputs(node)) {
        PushRead(ProducerOf(model_, input), node);
      }
      for (auto read = begin; read != next; ++read) {
        PushRead(read->from, node);
      }
      raw_reads_.End();
    }
  }

  bool CarriesData(NodeId node) const {
    return !ops_.Is(node, {OpKind::kConstant, OpKind::kShapeOf}) &&
           ops_[node] != Op::kConstantOfShape && data_.IsMadeBy(node);
  }

  void PushRead(NodeId from, NodeId to) {
    const NodeId node = Resolve(from);
    if (node != kNo<NodeId> && node != to) {
      raw_reads_.Push(static_cast<std::uint32_t>(Index(node)));
    }
  }

  // The node itself, or the node whose alias it is. Forward references have no
  // node: such files are not sorted, and nothing is found behind them.
  NodeId Resolve(NodeId node) const {
    if (node == kNo<NodeId> || Index(node) < first_ ||
        Local(node) >= state_.size()) {
      return kNo<NodeId>;
    }
    if (alias_[Local(node)] != kNo<NodeId>) return alias_[Local(node)];
    return state_[Local(node)] == State::kThere ? node : kNo<NodeId>;
  }
  std::size_t Local(NodeId node) const { return Index(node) - first_; }

  // The file's order is a sorted one: what is read has been met before.
  void Sort(const std::vector<NodeId>&) {
    number_.assign(state_.size(), kNone);
    for (std::size_t i = 0; i < raw_nodes_.size(); ++i) {
      number_[Local(raw_nodes_[i])] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < raw_nodes_.size(); ++i) {
      seen_.clear();
      for (const std::uint32_t from : raw_reads_[i]) {
        const std::uint32_t number = number_[from - first_];
        if (std::find(seen_.begin(), seen_.end(), number) != seen_.end()) {
          continue;
        }
        // A Concat of thousands of values reads each of them once, or nearly.
        if (seen_.size() < 64) seen_.push_back(number);
        reads_.Push(number);
      }
      reads_.End();
    }
    readers_ = reads_.Reversed(raw_nodes_.size());
  }

  std::size_t count() const { return raw_nodes_.size(); }
  bool IsHeavy(std::uint32_t i) const { return heavy_[raw_nodes_[i]]; }

  // What ends in outputs without a heavy operator hangs on the node that it
  // reads, if that node has other readers: the keys and values of a cache,
  // hidden states.
  void FindAttached() {
    std::vector<bool> ends(count());
    for (std::uint32_t i = static_cast<std::uint32_t>(count()); i-- > 0;) {
      const auto readers = readers_[i];
      ends[i] =
          !IsHeavy(i) && std::all_of(readers.begin(), readers.end(),
                                     [&](std::uint32_t r) { return ends[r]; });
    }
    std::vector<bool> goes_on(count());
    for (std::uint32_t i = 0; i < count(); ++i) {
      const auto readers = readers_[i];
      goes_on[i] = std::any_of(readers.begin(), readers.end(),
                               [&](std::uint32_t r) { return !ends[r]; });
    }
    attached_.assign(count(), kNone);
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (!ends[i] || reads_[i].empty()) continue;
      std::uint32_t root = kNone;
      bool one = true;
      for (const std::uint32_t from : reads_[i]) {
        const bool hangs = attached_[from] != kNone;
        const std::uint32_t at = hangs ? attached_[from] : from;
        one &= (hangs || goes_on[from]) && (root == kNone || root == at);
        root = at;
      }
      if (one) attached_[i] = root;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(count()); i-- > 0;) {
      const auto readers = readers_[i];
      if (std::any_of(readers.begin(), readers.end(),
                      [&](std::uint32_t r) { return attached_[r] == kNone; })) {
        attached_[i] = kNone;
      }
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (attached_[i] == kNone) continue;
      const std::uint32_t from = reads_[i][0];
      flow_.attached.push_back({raw_nodes_[i], raw_nodes_[from]});
    }
  }

  // Values that no heavy operator made and that only meet values which are
  // deeper, at several depths.
  void FindSide() {
    std::vector<std::uint32_t> depth(count());
    std::vector<bool> flat(count());
    // The deepest operand, and the deepest of the others.
    std::vector<std::uint32_t> deepest(count(), 0);
    std::vector<std::uint32_t> second(count(), 0);
    for (std::uint32_t i = 0; i < count(); ++i) {
      flat[i] = !IsHeavy(i) || IsTable(raw_nodes_[i]);
      for (const std::uint32_t from : reads_[i]) {
        const std::uint32_t d = depth[from];
        flat[i] = flat[i] && flat[from];
        if (d >= deepest[i]) {
          second[i] = deepest[i];
          deepest[i] = d;
        } else {
          second[i] = std::max(second[i], d);
        }
      }
      depth[i] = deepest[i] + (IsHeavy(i) ? 1 : 0);
    }
    struct Meets {
      std::uint32_t first = kNone;
      std::uint32_t last = 0;
      bool only = false;
    };
    std::vector<Meets> meets(count());
    side_.assign(count(), false);
    for (std::uint32_t i = static_cast<std::uint32_t>(count()); i-- > 0;) {
      Meets& mine = meets[i];
      bool all_side = true;
      for (const std::uint32_t r : readers_[i]) {
        if (attached_[r] != kNone) continue;
        if (mine.first == kNone) mine.only = true;
        all_side &= side_[r];
        const std::uint32_t others =
            depth[i] == deepest[r] ? second[r] : deepest[r];
        if (reads_[r].size() > 1 && others > depth[i]) {
          mine.first = std::min(mine.first, depth[r]);
          mine.last = std::max(mine.last, depth[r]);
        } else if (flat[r] && meets[r].only) {
          mine.first = std::min(mine.first, meets[r].first);
          mine.last = std::max(mine.last, meets[r].last);
        } else {
          mine.only = false;
          mine.first = 0;
        }
      }
      side_[i] = attached_[i] == kNone && flat[i] && mine.only &&
                 (mine.last - mine.first >= 2 || all_side);
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (side_[i]) flow_.side.push_back(raw_nodes_[i]);
    }
    depth_ = std::move(depth);
  }

  // A product without a weight, as in a table of rotary positions.
  bool IsTable(NodeId node) const {
    if (ops_[node] != Op::kMatMul) return false;
    for (const ValueId input : model_.Inputs(node)) {
      if (input == kNo<ValueId> || data_.Contains(input)) continue;
      const Initializer* const weight = model_.InitializerOf(input);
      if (weight == nullptr || weight->rank > 1) return false;
    }
    return true;
  }

  void Order() {
    std::vector<std::uint32_t> open(count(), 0);
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (!IsMain(i)) continue;
      for (const std::uint32_t from : reads_[i]) ++open[from];
    }
    // Later is better; then what no heavy operator made, which stays with its
    // reader; then the last operand.
    using Key = std::tuple<std::uint32_t, bool, std::uint32_t, std::uint32_t>;
    std::priority_queue<Key> ready;
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (IsMain(i) && open[i] == 0) ready.push({0, true, i, i});
    }
    std::vector<Key> key(count());
    std::vector<bool> met(count());
    std::vector<std::uint32_t> order;
    while (!ready.empty()) {
      const std::uint32_t i = std::get<3>(ready.top());
      ready.pop();
      order.push_back(i);
      const auto now = static_cast<std::uint32_t>(order.size());
      std::uint32_t operand = 0;
      for (const std::uint32_t from : reads_[i]) {
        if (!IsMain(from)) continue;
        if (!met[from]) {
          met[from] = true;
          key[from] = {now, depth_[from] == 0, operand, from};
        }
        ++operand;
        if (--open[from] == 0) ready.push(key[from]);
      }
    }
    std::reverse(order.begin(), order.end());
    std::vector<std::uint32_t> position(count(), kNone);
    for (std::size_t p = 0; p < order.size(); ++p) {
      position[order[p]] = static_cast<std::uint32_t>(p);
      flow_.nodes.push_back(raw_nodes_[order[p]]);
    }
    for (const std::uint32_t i : order) {
      for (const std::uint32_t from : reads_[i]) {
        if (IsMain(from)) flow_.ins.Push(position[from]);
      }
      flow_.ins.End();
    }
    flow_.outs = flow_.ins.Reversed(order.size());
  }
  bool IsMain(std::uint32_t i) const {
    return attached_[i] == kNone && !side_[i];
  }

  enum class State : std::uint8_t { kAbsent, kThere };

  const Model& model_;
  const Operators& ops_;
  const HeavyNodes& heavy_;
  const DataValues& data_;
  Flow flow_;

  std::size_t first_ = 0;  // index of the graph's first node
  std::vector<State> state_;
  std::vector<NodeId> alias_;
  std::vector<NodeId> raw_nodes_;  // numbered in the file's order
  Edges raw_reads_;                // indices of nodes
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> seen_;
  Edges reads_;    // numbers
  Edges readers_;  // numbers
  std::vector<std::uint32_t> attached_;
  std::vector<bool> side_;
  std::vector<std::uint32_t> depth_;
};

}  // namespace

Calls::Calls(const Model& model, const Operators& ops)
    : model_(model), ops_(ops) {
  for (const Function& function : model.functions()) {
    bodies_.emplace(std::pair(model.FindName(function.name),
                              model.FindName(function.domain)),
                    function.body);
  }
}

GraphId Calls::operator[](NodeId node) const {
  if (bodies_.empty() || ops_[node] != Op::kNone) return kNo<GraphId>;
  const auto at = bodies_.find({model_[node].op_type, model_[node].domain});
  return at == bodies_.end() ? kNo<GraphId> : at->second;
}

HeavyNodes::HeavyNodes(const Model& model, const Operators& ops,
                       const Calls& calls)
    : heavy_(model.node_count(), false) {
  constexpr OpKinds kHeavy = {OpKind::kProduct, OpKind::kConvolution,
                              OpKind::kRecurrent, OpKind::kAttention};
  // Functions that call functions need another round; more than a few levels
  // do not occur.
  constexpr int kRounds = 4;
  std::vector<bool> graph_is_heavy(model.graph_count(), false);
  for (int round = 0; round < (model.functions().empty() ? 1 : kRounds);
       ++round) {
    // Backwards: the nodes of a subgraph follow the node that holds it.
    for (std::size_t i = model.node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      bool heavy = ops.Is(node, kHeavy);
      for (const GraphId graph : model.Subgraphs(node)) {
        heavy |= graph_is_heavy[Index(graph)];
      }
      const GraphId body = calls[node];
      heavy |= body != kNo<GraphId> && graph_is_heavy[Index(body)];
      heavy_[i] = heavy;
      if (heavy) graph_is_heavy[Index(model[node].graph)] = true;
    }
  }
}

OuterReads FindOuterReads(const Model& model) {
  OuterReads reads(model.graph_count());
  for (const NodeId node : model.Nodes()) {
    if (model[model[node].graph].kind != GraphKind::kSubgraph) continue;
    for (const ValueId input : model.Inputs(node)) {
      const NodeId from = ProducerOf(model, input);
      if (from == kNo<NodeId>) continue;
      const GraphId graph = model[from].graph;
      NodeId to = node;
      while (to != kNo<NodeId> && model[to].graph != graph) {
        to = model[model[to].graph].parent_node;
      }
      if (to != kNo<NodeId> && to != node) {
        reads[Index(graph)].push_back({from, to});
      }
    }
  }
  return reads;
}

Flow FindFlow(const Model& model, GraphId graph, const Operators& ops,
              const HeavyNodes& heavy, const DataValues& data,
              const std::vector<OuterRead>& outer) {
  return Finder(model, graph, ops, heavy, data, outer).Find();
}

}  // namespace onnx_tag::structure
