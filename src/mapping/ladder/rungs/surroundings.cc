// Places nodes by what is around them: named neighbours, the graphs that a node
// runs, a vote of producers and consumers.
#include <algorithm>

#include "base/union_find.h"
#include "mapping/ladder/rungs/rung_base.h"

namespace onnx_tag {
namespace {

// Connected open nodes, and the placed nodes around them. tf2onnx writes an
// Einsum or an LSTM as dozens of nodes without a scope. They belong to the
// innermost layer that contains all connected nodes.
class UnnamedRegions : RungBase {
 public:
  UnnamedRegions(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        regions_(model_.node_count()),
        module_(model_.node_count(), kNo<ModuleId>),
        touches_(model_.node_count(), false) {}

  std::vector<Claim> Run() {
    ForEachEdge([&](NodeId from, NodeId to) {
      if (IsOpen(from) && IsOpen(to)) regions_.Join(from, to);
    });
    // The innermost module that contains the placed nodes around.
    ForEachBorder([&](NodeId region, ModuleId module) {
      ModuleId& around = module_[region];
      around = around == kNo<ModuleId> ? module
                                       : tree_.CommonAncestor(around, module);
    });
    // Whether one of them is in that module itself.
    ForEachBorder([&](NodeId region, ModuleId module) {
      if (module_[region] == module) touches_[region] = true;
    });
    for (const NodeId node : model_.Nodes()) {
      const NodeId region = regions_.Find(node);
      const ModuleId module = module_[region];
      if (module == kNo<ModuleId>) continue;
      Propose(node, module,
              module == kRoot    ? Confidence::kLow
              : touches_[region] ? Confidence::kHigh
                                 : Confidence::kMedium,
              Source::kLocality,
              "it is connected to named nodes of this layer");
    }
    return std::move(claims_);
  }

 private:
  template <typename Function>
  void ForEachEdge(const Function& function) const {
    for (const NodeId node : model_.Nodes()) {
      for (const ValueId input : model_.Inputs(node)) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer != kNo<NodeId> && !data_.IsConstant(input)) {
          function(producer, node);
        }
      }
    }
  }

  // Calls `function(region, module)` for each edge between an open node and a
  // placed one.
  template <typename Function>
  void ForEachBorder(const Function& function) {
    ForEachEdge([&](NodeId from, NodeId to) {
      if (IsOpen(from) == IsOpen(to)) return;
      if (IsOpen(to)) std::swap(from, to);
      function(regions_.Find(from), placed_[to].module);
    });
  }

  UnionFind<NodeId> regions_;
  IdVector<NodeId, ModuleId> module_;  // by region
  IdVector<NodeId, bool> touches_;
};

// If and Loop of scripted modules: the branches use the parameters of
// submodules; the other nodes belong to the module itself.
class ControlFlow : RungBase {
 public:
  using RungBase::RungBase;

  std::vector<Claim> Run() {
    Collect();
    for (const NodeId node : model_.Nodes()) {
      const auto graphs = model_.Subgraphs(node);
      if (graphs.empty()) continue;
      const ModuleId module =
          IsOpen(node) ? ModuleOf(node) : placed_[node].module;
      if (module == kNo<ModuleId>) continue;
      Put(node, module,
          "this module contains the modules that its branches use");
      if (IsOpen(node)) ProposeForConditions(node, module);
      // A branch may contain a whole model. Then the root says nothing about
      // its nodes.
      if (module == kRoot) continue;
      for (const GraphId graph : graphs) {
        for (const NodeId inner : model_[graph].nodes) {
          if (!model_.Subgraphs(inner).empty()) continue;
          Put(inner, module, "it is in a branch of this module");
        }
      }
    }
    return std::move(claims_);
  }

 private:
  // The common module of the placed nodes inside a node's graphs, at any depth.
  struct Contents {
    ModuleId around = kNo<ModuleId>;
    bool several = false;  // modules
    bool open = false;     // some node inside is not placed
  };

  // From the innermost graphs outwards; a node precedes the nodes inside it.
  void Collect() {
    contents_.resize(model_.node_count());
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      const NodeId node = MakeId<NodeId>(i);
      const Graph& graph = model_[model_[node].graph];
      if (graph.kind != GraphKind::kSubgraph) continue;
      Contents& outer = contents_[graph.parent_node];
      if (!model_.Subgraphs(node).empty()) {
        Add(outer, contents_[node].around);
        outer.several |= contents_[node].several;
        outer.open |= contents_[node].open;
      } else if (!IsOpen(node)) {
        Add(outer, placed_[node].module);
      } else if (!model_.Inputs(node).empty()) {
        outer.open = true;
      }
    }
  }

  void Add(Contents& contents, ModuleId module) const {
    if (module == kNo<ModuleId>) return;
    if (contents.around == kNo<ModuleId>) {
      contents.around = module;
    } else if (contents.around != module) {
      contents.several = true;
      contents.around = tree_.CommonAncestor(contents.around, module);
    }
  }

  // If a branch has operations besides those of one module, it belongs to the
  // caller of that module.
  ModuleId ModuleOf(NodeId node) const {
    const Contents& contents = contents_[node];
    if (contents.around == kNo<ModuleId> || contents.around == kRoot ||
        contents.several || !contents.open) {
      return contents.around;
    }
    return tree_.Parent(contents.around);
  }

  // Places nodes that only compute the condition or the trip count.
  void ProposeForConditions(NodeId node, ModuleId module) {
    const auto inputs = model_.Inputs(node);
    const std::size_t conditions = ops_[node] == Op::kLoop ? 2 : 1;
    for (std::size_t i = 0; i < std::min(conditions, inputs.size()); ++i) {
      NodeId reader = node;
      NodeId producer = ProducerOf(model_, inputs[i]);
      while (producer != kNo<NodeId> && IsOpen(producer) &&
             model_[producer].graph == model_[node].graph &&
             model_.Subgraphs(producer).empty() &&
             OnlyConsumer(model_, producer) == reader) {
        Put(producer, module, "it computes a condition for this module");
        reader = producer;
        producer = FirstMaker(producer);
      }
    }
  }

  void Put(NodeId node, ModuleId module, std::string_view because) {
    Propose(node, module, Confidence::kMedium, Source::kOperation, because);
  }

  IdVector<NodeId, Contents> contents_;
};

class Ballot {
 public:
  explicit Ballot(const ModuleTree& modules) : modules_(modules) {}

  void Vote(ModuleId module) {
    if (module == kNo<ModuleId> || votes_.size() > kMostModules) return;
    for (auto& [voted, votes] : votes_) {
      if (voted == module) {
        ++votes;
        return;
      }
    }
    votes_.emplace_back(module, 1);
  }

  // The module with most votes, of those that are close to all others and in
  // no other layer; kNo: none.
  ModuleId Winner() const {
    ModuleId winner = kNo<ModuleId>;
    std::size_t most = 0;
    if (votes_.size() > kMostModules) return winner;
    for (const auto& [module, votes] : votes_) {
      if (!IsClose(module)) return kNo<ModuleId>;
      // Of equals the first: the nearest to what runs first.
      if (votes > most) {
        winner = module;
        most = votes;
      }
    }
    return winner;
  }

 private:
  // Modules are close where their paths, the root counted, share this many
  // components.
  static constexpr std::size_t kCloseComponents = 3;
  // Neighbours in more modules agree on none. The bound keeps a node with as
  // many neighbours as the file has nodes cheap.
  static constexpr std::size_t kMostModules = 64;

  bool IsClose(ModuleId module) const {
    return AllIn(votes_, [&](const auto& vote) {
      const ModuleId other = vote.first;
      const ModuleId common = modules_.CommonAncestor(module, other);
      return other == module ||
             (modules_.Depth(common) + 1 >= kCloseComponents &&
              !modules_.InOtherLayer(module, other));
    });
  }

  const ModuleTree& modules_;
  std::vector<std::pair<ModuleId, std::size_t>> votes_;
};

}  // namespace

std::vector<Claim> ProposeForUnnamedRegions(const Evidence& evidence,
                                            const Placed& placed) {
  if (evidence.dialect != hierarchy::Dialect::kTf2onnx) return {};
  return UnnamedRegions(evidence, placed).Run();
}

std::vector<Claim> ProposeForControlFlow(const Evidence& evidence,
                                         const Placed& placed) {
  return ControlFlow(evidence, placed).Run();
}

// The strategies htp and fx_graph, auxiliary operations: the producers and
// consumers that are placed vote. There are four rounds, because auxiliary
// operations form chains. A round uses only the results of earlier rounds, so
// that the order of nodes does not matter.
std::vector<Claim> ProposeByVote(const Evidence& evidence,
                                 const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  IdVector<NodeId, ModuleId> found(model.node_count(), kNo<ModuleId>);
  for (const NodeId node : model.Nodes()) found[node] = placed[node].module;
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    const IdVector<NodeId, ModuleId> before = found;
    for (const NodeId node : model.Nodes()) {
      if (before[node] != kNo<ModuleId>) continue;
      Ballot ballot(evidence.modules);
      // Also from within the graphs of an If or Loop.
      for (const NodeId reader : Readers(model, node)) {
        ballot.Vote(before[reader]);
      }
      for (const NodeId maker : Makers(model, node)) ballot.Vote(before[maker]);
      // The nodes of a graph inside a node are of the node's module.
      const Graph& graph = model[model[node].graph];
      if (graph.kind == GraphKind::kSubgraph) {
        ballot.Vote(before[graph.parent_node]);
      }
      const ModuleId winner = ballot.Winner();
      if (winner == kNo<ModuleId>) continue;
      found[node] = winner;
      claims.push_back({node, winner, Confidence::kMedium, Source::kLocality,
                        "most of its neighbours are in this module, and "
                        "all are close to it"});
    }
  }
  return claims;
}

std::vector<Claim> ProposeAuxiliary(const Evidence& evidence,
                                    const Placed& placed) {
  std::vector<Claim> claims;
  for (const NodeId node : evidence.model.Nodes()) {
    if (placed[node].tagged()) continue;
    claims.push_back({node, ModuleTree::kRoot, Confidence::kLow,
                      Source::kAuxiliary,
                      "it is an auxiliary operation, and its neighbours agree "
                      "on no module"});
  }
  return claims;
}

}  // namespace onnx_tag
