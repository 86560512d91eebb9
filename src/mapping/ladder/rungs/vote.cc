// The strategies htp and fx_graph: auxiliary operations by vote.
#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// Whoever reads a result of the node, also from within the graphs of an If or
// Loop.
template <typename Use>
void ForEachReader(const Model& model, NodeId node, const Use& use) {
  for (const ValueId output : model.Outputs(node)) {
    if (output == kNo<ValueId>) continue;
    for (const NodeId reader : model.Consumers(output)) use(reader);
  }
}

// The nodes of a graph inside a node are of the node's module.
NodeId AroundGraph(const Model& model, NodeId node) {
  const Graph& graph = model[model[node].graph];
  return graph.kind == GraphKind::kSubgraph ? graph.parent_node : kNo<NodeId>;
}

// Modules are close where their paths, the root counted, share this many
// components.
constexpr std::size_t kCloseComponents = 3;

class Ballot {
 public:
  explicit Ballot(const ModuleTree& modules) : modules_(modules) {}

  void Vote(ModuleId module) {
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
    for (const auto& [module, votes] : votes_) {
      if (!Close(module)) return kNo<ModuleId>;
      // Of equals the first: the nearest to what runs first.
      if (votes > most) {
        winner = module;
        most = votes;
      }
    }
    return winner;
  }

 private:
  bool Close(ModuleId module) const {
    for (const auto& [other, votes] : votes_) {
      if (other == module) continue;
      const ModuleId common = modules_.CommonAncestor(module, other);
      if (modules_.Depth(common) + 1 < kCloseComponents) return false;
      if (modules_.InOtherLayer(module, other)) return false;
    }
    return true;
  }

  const ModuleTree& modules_;
  std::vector<std::pair<ModuleId, std::size_t>> votes_;
};

}  // namespace

// Auxiliary operations: the producers and consumers that are placed vote. There
// are four rounds, because auxiliary operations form chains. A round uses only
// the results of earlier rounds, so that the order of nodes does not matter.
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
      const auto vote = [&](NodeId neighbour) {
        if (neighbour != kNo<NodeId> && before[neighbour] != kNo<ModuleId>) {
          ballot.Vote(before[neighbour]);
        }
      };
      ForEachReader(model, node, vote);
      for (const ValueId input : model.Inputs(node)) {
        vote(ProducerOf(model, input));
      }
      vote(AroundGraph(model, node));
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
