// The strategy htp: a recorded run projected onto the nodes, then auxiliary
// operations by vote.
#include "hierarchy/name_parts.h"
#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {

RungFunction ProposeForGemmReshapes;  // helpers.cc

namespace {

std::vector<Claim> ClaimProjected(const Evidence& evidence,
                                  const std::vector<ProjectedFact>& facts,
                                  Source source, const Placed& placed,
                                  ProjectionTrust least, ProjectionTrust most) {
  std::vector<Claim> claims;
  for (const ProjectedFact& fact : facts) {
    if (placed[fact.node].tagged() || fact.trust < least || fact.trust > most) {
      continue;
    }
    switch (fact.trust) {
      case ProjectionTrust::kFound:
        claims.push_back({fact.node, fact.module, Confidence::kCertain, source,
                          "its operation was recorded in this "
                          "module"});
        break;
      case ProjectionTrust::kPart:
        claims.push_back({fact.node, fact.module, Confidence::kHigh, source,
                          "it is one of the nodes that a recorded operation "
                          "of this module became"});
        break;
      case ProjectionTrust::kBetween:
        claims.push_back({fact.node, fact.module, Confidence::kMedium, source,
                          "recorded operations of this module are around "
                          "it"});
        break;
      case ProjectionTrust::kCaller:
        claims.push_back({fact.node, evidence.Callable(fact.module),
                          Confidence::kLow, source,
                          "recorded operations of modules that this one calls "
                          "are around it"});
        break;
    }
  }
  return claims;
}

// Whoever reads a result of the node, also from within the graphs of an If or
// Loop.
template <typename Use>
void ForEachReader(const Model& model, NodeId node, const Use& use) {
  for (const ValueId output : model.Outputs(node)) {
    if (output == kNo<ValueId>) continue;
    for (const NodeId reader : model.Consumers(output)) use(reader);
  }
}

bool GivesGraphOutput(const Model& model, NodeId node) {
  for (const ValueId output : model.Outputs(node)) {
    if (output != kNo<ValueId> && model[output].is_output) return true;
  }
  return false;
}

}  // namespace

std::vector<Claim> ProposeFromTrace(const Evidence& evidence,
                                    const Placed& placed) {
  return ClaimProjected(evidence, evidence.traced, Source::kTrace, placed,
                        ProjectionTrust::kCaller, ProjectionTrust::kFound);
}

std::vector<Claim> ProposeFromFx(const Evidence& evidence,
                                 const Placed& placed) {
  return ClaimProjected(evidence, evidence.fx_traced, Source::kFx, placed,
                        ProjectionTrust::kCaller, ProjectionTrust::kFound);
}

namespace {

// Of both recordings, the run first.
std::vector<Claim> ClaimRecorded(const Evidence& evidence, const Placed& placed,
                                 ProjectionTrust least, ProjectionTrust most) {
  std::vector<Claim> claims = ClaimProjected(
      evidence, evidence.traced, Source::kTrace, placed, least, most);
  const std::vector<Claim> more = ClaimProjected(
      evidence, evidence.fx_traced, Source::kFx, placed, least, most);
  claims.insert(claims.end(), more.begin(), more.end());
  return claims;
}

}  // namespace

std::vector<Claim> ProposeRecordedHeads(const Evidence& evidence,
                                        const Placed& placed) {
  return ClaimRecorded(evidence, placed, ProjectionTrust::kFound,
                       ProjectionTrust::kFound);
}

std::vector<Claim> ProposeRecordedParts(const Evidence& evidence,
                                        const Placed& placed) {
  return ClaimRecorded(evidence, placed, ProjectionTrust::kPart,
                       ProjectionTrust::kPart);
}

std::vector<Claim> ProposeBetweenRecorded(const Evidence& evidence,
                                          const Placed& placed) {
  return ClaimRecorded(evidence, placed, ProjectionTrust::kCaller,
                       ProjectionTrust::kBetween);
}

std::vector<Claim> ProposeFromCalls(const Evidence& evidence,
                                    const Placed& placed) {
  std::vector<Claim> claims;
  for (const ProjectedFact& fact : evidence.called) {
    if (placed[fact.node].tagged()) continue;
    const bool found = fact.trust >= ProjectionTrust::kPart;
    claims.push_back(
        {fact.node, fact.module,
         found ? Confidence::kHigh : Confidence::kMedium, Source::kHierarchy,
         found ? "in the hierarchy, a module of this class is called here"
               : "in the hierarchy, only this module is called here"});
  }
  return claims;
}

// The Reshapes that a tool put around a Gemm are in no recording.
std::vector<Claim> ProposeForRecordedGemms(const Evidence& evidence,
                                           const Placed& placed) {
  if (evidence.traced.empty() && evidence.fx_traced.empty()) return {};
  return ProposeForGemmReshapes(evidence, placed);
}

namespace {

// Whether the paths part at two indices: the modules are of different layers.
bool OtherLayer(const ModuleTree& modules, ModuleId a, ModuleId b) {
  const ModuleId common = modules.CommonAncestor(a, b);
  const auto parts_at_index = [&](ModuleId module) {
    if (module == common) return false;
    while (modules.Parent(module) != common) module = modules.Parent(module);
    return hierarchy::IsNumeric(modules.Atom(module));
  };
  return parts_at_index(a) && parts_at_index(b);
}

// The modules of the recorded operations before and after a node.
struct Surroundings {
  ModuleId before = kNo<ModuleId>;
  ModuleId after = kNo<ModuleId>;
};

IdVector<NodeId, Surroundings> FindSurroundings(
    const Evidence& evidence, const std::vector<ProjectedFact>& facts) {
  const std::size_t count = evidence.model.node_count();
  IdVector<NodeId, ModuleId> known(count, kNo<ModuleId>);
  for (const ProjectedFact& fact : facts) {
    if (fact.trust >= ProjectionTrust::kPart) known[fact.node] = fact.module;
  }
  IdVector<NodeId, Surroundings> result(count);
  ModuleId last = kNo<ModuleId>;
  for (const NodeId node : evidence.run_order) {
    if (known[node] != kNo<ModuleId>) last = known[node];
    result[node].before = last;
  }
  last = kNo<ModuleId>;
  for (auto at = evidence.run_order.rbegin(); at != evidence.run_order.rend();
       ++at) {
    if (known[*at] != kNo<ModuleId>) last = known[*at];
    result[*at].after = last;
  }
  return result;
}

// Whether a module may have made a node that runs there.
bool Fits(const ModuleTree& modules, ModuleId module,
          const Surroundings& around) {
  const auto fits = [&](ModuleId other) {
    return other == kNo<ModuleId> || !OtherLayer(modules, module, other);
  };
  return fits(around.before) || fits(around.after);
}

// Constants, sizes and weights turned around are part of what the operations
// became that read them.
class OperandClaims {
 public:
  OperandClaims(const Evidence& evidence, const Placed& placed,
                const std::vector<ProjectedFact>& facts, Source source)
      : evidence_(evidence),
        model_(evidence.model),
        placed_(placed),
        source_(source),
        around_(FindSurroundings(evidence, facts)),
        found_(model_.node_count(), kNo<ModuleId>) {}

  // Backwards, since what they are computed from comes first.
  std::vector<Claim> Make() {
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      found_[node] = placed_[node].module;
      if (!placed_[node].tagged()) Place(node);
    }
    return std::move(claims_);
  }

 private:
  void Place(NodeId node) {
    const auto [before, after] = around_[node];
    const ModuleId reader = OnlyReader(node);
    if (reader != kNo<ModuleId>) {
      Add(node, reader, Confidence::kHigh,
          "only recorded operations of this module use it");
    } else if (before != kNo<ModuleId> && before == after) {
      Add(node, before, Confidence::kHigh,
          "it runs between recorded operations of this module");
    }
  }

  // The one module of those who read the node's results. Equal constants and
  // sizes are computed once, for the first who asks: who runs in another layer
  // than the node has no say, but for lists of sizes, which are put together
  // where they are read.
  ModuleId OnlyReader(NodeId node) const {
    if (GivesGraphOutput(model_, node)) return kNo<ModuleId>;
    if (model_.OpType(node) == "Concat") {
      const ModuleId module = Agreed(node, false);
      if (module != kNo<ModuleId>) return module;
    }
    return Agreed(node, true);
  }

  ModuleId Agreed(NodeId node, bool near_only) const {
    ModuleId module = kNo<ModuleId>;
    bool agree = true;
    ForEachReader(model_, node, [&](NodeId reader) {
      const ModuleId its = ReaderModule(node, reader);
      if (its == kNo<ModuleId>) {
        agree = false;
      } else if (!near_only || Fits(evidence_.modules, its, around_[node])) {
        if (module == kNo<ModuleId>) module = its;
        agree = agree && its == module;
      }
    });
    return agree ? module : kNo<ModuleId>;
  }

  // Whose result `reader` takes: what an embedding looks up is its caller's.
  ModuleId ReaderModule(NodeId node, NodeId reader) const {
    const ModuleId module = found_[reader];
    if (module == kNo<ModuleId> || module == ModuleTree::kRoot ||
        model_.OpType(reader) != "Gather") {
      return module;
    }
    const auto inputs = model_.Inputs(reader);
    const bool looked_up = inputs.size() > 1 && inputs[0] != kNo<ValueId> &&
                           inputs[1] != kNo<ValueId> &&
                           model_.Producer(inputs[1]) == node &&
                           model_.InitializerOf(inputs[0]) != nullptr &&
                           model_.InitializerOf(inputs[0])->rank == 2;
    return looked_up && evidence_.modules.Children(module).empty()
               ? evidence_.modules.Parent(module)
               : module;
  }

  void Add(NodeId node, ModuleId module, Confidence confidence,
           std::string_view because) {
    found_[node] = module;
    claims_.push_back({node, module, confidence, source_, because});
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  const Source source_;
  const IdVector<NodeId, Surroundings> around_;
  IdVector<NodeId, ModuleId> found_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForTracedOperands(const Evidence& evidence,
                                            const Placed& placed) {
  if (evidence.traced.empty()) return {};
  return OperandClaims(evidence, placed, evidence.traced, Source::kTrace)
      .Make();
}

std::vector<Claim> ProposeForFxOperands(const Evidence& evidence,
                                        const Placed& placed) {
  if (evidence.fx_traced.empty()) return {};
  return OperandClaims(evidence, placed, evidence.fx_traced, Source::kFx)
      .Make();
}

namespace {

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
      if (OtherLayer(modules_, module, other)) return false;
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
  const IdVector<NodeId, Surroundings> surroundings = FindSurroundings(
      evidence, evidence.traced.empty() ? evidence.fx_traced : evidence.traced);
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
      if (winner == kNo<ModuleId> ||
          !Fits(evidence.modules, winner, surroundings[node])) {
        continue;
      }
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
