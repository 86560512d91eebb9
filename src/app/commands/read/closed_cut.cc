// Tested by tests/app/commands/cut_test.cc.
#include "app/commands/read/closed_cut.h"

#include <fmt/core.h>

#include <algorithm>
#include <compare>
#include <unordered_set>

#include "base/lists.h"
#include "core/graph/operators.h"
#include "uses/edit/part.h"

namespace onnx_tag {
namespace {

constexpr GraphId kMain{0};

// By node of the main graph.
using Flags = IdVector<NodeId, char>;

// Who reads a value, and which of the reader's reads that is.
struct Reader {
  NodeId node;
  std::size_t read;
  auto operator<=>(const Reader&) const = default;
};

// What the nodes of the main graph read, with what their subgraphs capture.
class MainGraph {
 public:
  explicit MainGraph(const Model& model)
      : model_(model),
        reads_(model.node_count()),
        readers_(model.node_count()) {
    for (const NodeId node : nodes()) {
      FindReads(node);
      for (std::size_t i = 0; i < reads_[node].size(); ++i) {
        const NodeId maker = model.Producer(reads_[node][i]);
        if (maker != kNo<NodeId>) readers_[maker].push_back({node, i});
      }
    }
  }

  const std::vector<NodeId>& nodes() const { return model_[kMain].nodes; }
  const std::vector<ValueId>& Reads(NodeId node) const { return reads_[node]; }
  // Of all results of a node.
  const std::vector<Reader>& Readers(NodeId node) const {
    return readers_[node];
  }
  ValueId ValueOf(const Reader& reader) const {
    return reads_[reader.node][reader.read];
  }
  bool IsInput(ValueId value) const {
    return model_[value].is_input && model_.Producer(value) == kNo<NodeId> &&
           model_.InitializerOf(value) == nullptr;
  }
  bool IsWeight(ValueId value) const {
    return model_.Producer(value) == kNo<NodeId> && !IsInput(value);
  }

  // The node that a node of a subgraph is inside of; kNo for nodes of
  // functions.
  NodeId Around(NodeId node) const {
    while (model_[model_[node].graph].kind == GraphKind::kSubgraph) {
      node = model_[model_[node].graph].parent_node;
    }
    return model_[node].graph == kMain ? node : kNo<NodeId>;
  }

 private:
  void FindReads(NodeId node) {
    std::vector<ValueId>& reads = reads_[node];
    for (const ValueId input : model_.Inputs(node)) {
      if (input != kNo<ValueId>) reads.push_back(input);
    }
    if (model_.Subgraphs(node).empty()) return;
    std::unordered_set<ValueId> known(reads.begin(), reads.end());
    for (const ValueId value : edit::ReadsOf(model_, node)) {
      // A sidecar does not say which weights there are: a name that it does not
      // list may be an input of the subgraph.
      const bool is_known =
          !IsWeight(value) || model_.InitializerOf(value) != nullptr;
      if (is_known && known.insert(value).second) reads.push_back(value);
    }
  }

  const Model& model_;
  IdVector<NodeId, std::vector<ValueId>> reads_;
  IdVector<NodeId, std::vector<Reader>> readers_;
};

// Everything that can be reached from `start`, itself included.
Flags Reached(const Model& model, const MainGraph& graph, const Flags& start,
              bool forward) {
  Flags reached = start;
  std::vector<NodeId> open;
  for (const NodeId node : graph.nodes()) {
    if (start[node]) open.push_back(node);
  }
  const auto visit = [&](NodeId node) {
    if (node == kNo<NodeId> || reached[node]) return;
    reached[node] = 1;
    open.push_back(node);
  };
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (forward) {
      for (const Reader& reader : graph.Readers(node)) visit(reader.node);
    } else {
      for (const ValueId value : graph.Reads(node)) {
        visit(model.Producer(value));
      }
    }
  }
  return reached;
}

// Nodes that depend on no input: everything an input does not reach.
Flags Constants(const Model& model, const MainGraph& graph) {
  Flags fed(model.node_count());
  const Operators ops(model);
  for (const NodeId node : graph.nodes()) {
    const std::vector<ValueId>& reads = graph.Reads(node);
    // Made again, a random number would be another value.
    fed[node] = ops.Is(node, OpKind::kRandom) ||
                std::any_of(reads.begin(), reads.end(), [&](ValueId value) {
                  return graph.IsInput(value);
                });
  }
  Flags constant = Reached(model, graph, fed, true);
  for (char& flag : constant) flag = !flag;
  return constant;
}

}  // namespace

struct PartCutter::State {
  explicit State(const Model& file)
      : model(file),
        graph(file),
        constant(Constants(file, graph)),
        own(file.node_count()),
        inside(file.node_count()),
        returned(file.node_count()) {
    const std::vector<ValueId>& outputs = file[kMain].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNo<ValueId>) continue;
      const NodeId maker = file.Producer(outputs[i]);
      if (maker != kNo<NodeId>) returned[maker].push_back(i);
    }
  }

  bool IsInside(NodeId node) const {
    return node != kNo<NodeId> && inside[node] == part;
  }

  const Model& model;
  const MainGraph graph;
  const Flags constant;
  // By node: the last part that it was in; not asked for, but read, too.
  IdVector<NodeId, std::uint32_t> own, inside;
  std::uint32_t part = 0;
  IdVector<NodeId, std::vector<std::size_t>> returned;  // places of outputs
};

PartCutter::PartCutter(const Model& model)
    : state_(std::make_unique<State>(model)) {}

PartCutter::~PartCutter() = default;

Cut PartCutter::CutOut(std::vector<NodeId> nodes) {
  State& state = *state_;
  const MainGraph& graph = state.graph;
  ++state.part;
  for (const NodeId node : nodes) {
    state.own[node] = state.inside[node] = state.part;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {  // which grow
    for (const ValueId value : graph.Reads(nodes[i])) {
      const NodeId maker = state.model.Producer(value);
      if (maker == kNo<NodeId> || !state.constant[maker] ||
          state.IsInside(maker)) {
        continue;
      }
      state.inside[maker] = state.part;
      nodes.push_back(maker);
    }
  }
  SortUnique(nodes);
  Cut cut;
  std::unordered_set<ValueId> listed;  // inputs and outputs are not the same
  const auto list = [&](ValueId value, std::vector<std::string>& names) {
    if (!listed.insert(value).second) return;
    names.emplace_back(state.model.ValueName(value));
  };
  std::vector<Reader> readers;  // that need an output
  std::vector<std::size_t> returned;
  for (const NodeId node : nodes) {
    const bool own = state.own[node] == state.part;
    for (const ValueId read : graph.Reads(node)) {
      if (!graph.IsWeight(read) &&
          !state.IsInside(state.model.Producer(read))) {
        list(read, cut.inputs);
      }
    }
    for (const Reader& reader : graph.Readers(node)) {
      if (own && !state.IsInside(reader.node)) readers.push_back(reader);
    }
    if (!own) {
      cut.constants.push_back(node);
      continue;
    }
    returned.insert(returned.end(), state.returned[node].begin(),
                    state.returned[node].end());
  }
  std::sort(readers.begin(), readers.end());
  std::sort(returned.begin(), returned.end());
  for (const Reader& reader : readers) {
    list(graph.ValueOf(reader), cut.outputs);
  }
  for (const std::size_t i : returned) {
    list(state.model[kMain].outputs[i], cut.outputs);
  }
  cut.nodes = std::move(nodes);
  return cut;
}

Cut PartCutter::CutOutClosed(const std::vector<NodeId>& selected) {
  const Model& model = state_->model;
  const MainGraph& graph = state_->graph;
  Flags chosen(model.node_count());
  for (const NodeId node : selected) {
    if (model[node].graph == kMain) chosen[node] = 1;
  }
  // Nodes of subgraphs go with the node around them, or not at all.
  std::vector<Obstacle> obstacles;
  for (const NodeId node : selected) {
    const NodeId around = graph.Around(node);
    if (around == kNo<NodeId>) {
      obstacles.push_back({node, "it is in a function, not in the graph"});
    } else if (!chosen[around]) {
      obstacles.push_back(
          {node, fmt::format("it is inside node #{}, which is not selected",
                             model[around].index)});
    }
  }
  const Flags after = Reached(model, graph, chosen, true);
  const Flags before = Reached(model, graph, chosen, false);
  std::vector<NodeId> nodes;
  std::vector<NodeId> between;  // on a way out and back in
  for (const NodeId node : graph.nodes()) {
    if (!after[node] || !before[node]) continue;
    nodes.push_back(node);
    if (!chosen[node]) between.push_back(node);
  }
  Cut cut = CutOut(std::move(nodes));
  cut.between = std::move(between);
  cut.obstacles.insert(cut.obstacles.begin(), obstacles.begin(),
                       obstacles.end());
  return cut;
}

std::vector<bool> ConstantNodes(const Model& model) {
  const MainGraph graph(model);
  const Flags constant = Constants(model, graph);
  std::vector<bool> flags;
  for (const NodeId node : graph.nodes()) flags.push_back(constant[node] != 0);
  return flags;
}

}  // namespace onnx_tag
