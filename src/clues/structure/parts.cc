#include "clues/structure/parts.h"

#include <algorithm>
#include <utility>

#include "core/graph/neighbours.h"
#include "core/graph/walk.h"

namespace onnx_tag::structure {
namespace {

AtomKind KindOfComposite(CompositeKind kind) {
  if (IsNorm(kind)) return AtomKind::kNorm;
  if (IsActivation(kind)) return AtomKind::kActivation;
  return AtomKind::kOther;
}

}  // namespace

ModelParts::ModelParts(const GraphFacts& graph) : graph_(graph) {
  FindHeavy();
  FindGroups();
  FindOuterReads();
}

void ModelParts::FindHeavy() {
  constexpr OpKinds kHeavy = {OpKind::kProduct, OpKind::kConvolution,
                              OpKind::kRecurrent, OpKind::kAttention};
  IdVector<GraphId, bool> heavy_graph(model_.graph_count(), false);
  const auto look = [&](NodeId node) {
    bool heavy = graph_.ops.Is(node, kHeavy);
    for (const GraphId inner : model_.Subgraphs(node)) {
      heavy |= heavy_graph[inner];
    }
    const FunctionId called = graph_.calls.Of(node);
    if (called != kNo<FunctionId>) {
      heavy |= heavy_graph[model_.functions()[Index(called)].body];
    }
    heavy_[node] = heavy;
    if (heavy) heavy_graph[model_[node].graph] = true;
  };
  // Callees first, and the nodes of a subgraph follow the node that holds it.
  const std::vector<FunctionId>& functions = graph_.calls.CallersFirst();
  for (std::size_t f = functions.size(); f-- > 0;) {
    const std::vector<NodeId>& body = graph_.calls.Body(functions[f]);
    for (std::size_t i = body.size(); i-- > 0;) look(body[i]);
  }
  for (std::size_t i = model_.node_count(); i-- > 0;) {
    const auto node = MakeId<NodeId>(i);
    if (graph_.calls.OwnerOf(model_[node].graph) == kNo<FunctionId>) look(node);
  }
}

void ModelParts::FindGroups() {
  for (const Composites::Composite& composite : graph_.composites()) {
    const std::span<const NodeId> nodes = graph_.composites().Nodes(composite);
    const auto group = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({KindOfComposite(composite.kind), composite.main});
    for (const NodeId node : nodes) group_of_[node] = group;
    const auto [first, last] = std::minmax_element(nodes.begin(), nodes.end());
    for (const NodeId node : nodes) {
      // A cast of a value that others read, too, is before the norm.
      if (node != *last && !ForEachReader(model_, node, [&](NodeId reader) {
            return group_of_[reader] == group ||
                   graph_.ops.Is(reader, kAliases);
          })) {
        group_of_[node] = kNone;
      }
    }
    if (IsNorm(composite.kind)) JoinTransposed(composite.main, *first, *last);
  }
  for (const NodeId node : model_.Nodes()) {
    if (graph_.ops.Is(node, OpKind::kRecurrent)) JoinRecurrent(node);
    if (group_of_[node] != kNone) continue;
    if (graph_.ops.Is(node, OpKind::kProduct)) JoinBias(node);
    if (graph_.ops.Is(node, OpKind::kNorm)) JoinTransposed(node, node, node);
  }
}

// Puts `node` into the group of `with`.
std::uint32_t ModelParts::Join(NodeId node, NodeId with) {
  if (group_of_[with] == kNone) {
    groups_.push_back({AtomKind::kOther, with});
    group_of_[with] = static_cast<std::uint32_t>(groups_.size() - 1);
  }
  return group_of_[node] = group_of_[with];
}

// The only node that reads data of `node`, past identities, or kNo.
NodeId ModelParts::OnlyReader(NodeId node) const {
  constexpr int kMostAliases = 8;
  for (int step = 0; step < kMostAliases && node != kNo<NodeId>; ++step) {
    NodeId only = kNo<NodeId>;
    const bool one = ForEachReader(model_, node, [&](NodeId reader) {
      if (graph_.ops.Is(reader, OpKind::kShapeOf)) return true;
      return std::exchange(only, reader) == kNo<NodeId>;
    });
    node = one ? only : kNo<NodeId>;
    if (!graph_.ops.Is(node, kAliases)) break;
  }
  return node;
}

// The bias of a product, if it is no vector of the file.
void ModelParts::JoinBias(NodeId product) {
  const NodeId add = OnlyReader(product);
  if (graph_.ops[add] == Op::kAdd && group_of_[add] == kNone &&
      model_[add].graph == model_[product].graph &&
      graph_.links.ConstantOperand(add) != kNo<ValueId> &&
      graph_.links.ConstantOperand(product) != kNo<ValueId>) {
    Join(add, product);
  }
}

// Layers of one module: LSTM, moves of data, LSTM again; and the moves around
// them.
void ModelParts::JoinRecurrent(NodeId node) {
  constexpr int kMostMoves = 6;
  const auto is_free = [&](NodeId at, OpKinds kinds) {
    return at != kNo<NodeId> && group_of_[at] == kNone &&
           model_[at].graph == model_[node].graph && graph_.ops.Is(at, kinds);
  };
  const NodeId before = ProducerOf(model_, FirstInput(model_, node));
  if (is_free(before, {OpKind::kTranspose, OpKind::kReshape}) &&
      graph_.data.IsMadeBy(before) && OnlyReader(before) == node) {
    Join(before, node);
  }
  std::vector<NodeId> moves;
  NodeId at = OnlyReader(node);
  while (moves.size() < kMostMoves && is_free(at, kMoves)) {
    moves.push_back(at);
    at = OnlyReader(at);
  }
  const bool again =
      is_free(at, OpKind::kRecurrent) && graph_.ops[at] == graph_.ops[node];
  for (const NodeId move : moves) {
    if (!again &&
        !graph_.ops.Is(move, {OpKind::kTranspose, OpKind::kReshape})) {
      break;
    }
    Join(move, node);
  }
  if (again) Join(at, node);
}

// A norm over channels, between two transposes.
void ModelParts::JoinTransposed(NodeId norm, NodeId first, NodeId last) {
  const NodeId before = ProducerOf(model_, FirstInput(model_, first));
  const NodeId after = graph_.links.OnlyReader(last, {Op::kTranspose});
  if (graph_.ops[before] != Op::kTranspose || after == kNo<NodeId> ||
      !graph_.data.IsMadeBy(before) || group_of_[before] != kNone ||
      group_of_[after] != kNone || model_[before].graph != model_[norm].graph ||
      !ForEachReader(model_, before, [&](NodeId reader) {
        return reader == norm || (group_of_[reader] != kNone &&
                                  group_of_[reader] == group_of_[norm]);
      })) {
    return;
  }
  Join(before, norm);
  Join(after, norm);
}

void ModelParts::FindOuterReads() {
  for (const NodeId node : model_.Nodes()) {
    if (model_[model_[node].graph].kind != GraphKind::kSubgraph) continue;
    ForEachMaker(model_, node, [&](NodeId from) {
      const GraphId graph = model_[from].graph;
      NodeId to = node;
      while (to != kNo<NodeId> && model_[to].graph != graph) {
        to = model_[model_[to].graph].parent_node;
      }
      if (to != kNo<NodeId> && to != node) outer_[graph].push_back({from, to});
      return true;
    });
  }
}

}  // namespace onnx_tag::structure
