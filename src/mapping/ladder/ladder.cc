// Inference: rungs in order, the first claim on an open node wins. Then the
// other modules of a fused node: an optimizer made it from nodes of several
// modules, and the tag has only one.
#include "mapping/ladder/ladder.h"

#include <algorithm>
#include <cassert>

#include "base/lists.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/walk.h"
#include "mapping/ladder/clue_laws.h"
#include "mapping/ladder/sources.h"

namespace onnx_tag {
std::vector<Claim> Rung::Propose(const Evidence& evidence,
                                 const Placed& placed) const {
  std::vector<Claim> claims = propose(evidence, placed);
  for (Claim& claim : claims) {
    assert(claim.confidence <= highest);
    claim.confidence = std::min(claim.confidence, highest);
  }
  return claims;
}

void Accept(const Claim& claim, EvidenceKind evidence, Placed& placed) {
  Tag& tag = placed[claim.node];
  tag.module = claim.module;
  tag.confidence = claim.confidence;
  tag.source = claim.source;
  tag.evidence = evidence;
}

namespace {

// The strongest kind among the node's neighbours in the module of the claim.
EvidenceKind KindServed(const Model& model, const Claim& claim,
                        EvidenceKind otherwise, const Placed& placed) {
  std::size_t left = 16;  // neighbours to look at
  EvidenceKind kind = otherwise;
  const auto look = [&](NodeId near) {
    const Tag& tag = placed[near];
    if (tag.tagged() && tag.module == claim.module) {
      kind = std::min(kind, tag.evidence);
    }
    return --left > 0;
  };
  if (ForEachMaker(model, claim.node, look)) {
    ForEachReader(model, claim.node, look);
  }
  return kind;
}

}  // namespace

std::vector<Claim> Climb(const Evidence& evidence, const Rung& rung,
                         Placed& placed, Clues* clues) {
  std::vector<Claim> claims = rung.Propose(evidence, placed);
  std::size_t accepted = 0;
  for (const Claim& proposed : claims) {
    if (placed[proposed.node].tagged()) continue;
    const std::optional<Claim> claim = Admit(evidence, proposed);
    if (!claim) continue;
    const EvidenceKind kind =
        rung.serves_nodes
            ? KindServed(evidence.model, *claim, rung.kind, placed)
            : rung.kind;
    Accept(*claim, kind, placed);
    if (clues != nullptr) clues->Add(rung.id, kind, *claim);
    claims[accepted++] = *claim;
  }
  claims.resize(accepted);
  return claims;
}

void Infer(const Evidence& evidence, std::span<const Rung> rungs,
           Placed& placed, Clues& clues, const BeforeRung& before,
           bool placement) {
  auto open = placed.begin();  // all before it are tagged
  for (const Rung& rung : rungs) {
    if (placement ? IsReplaced(rung.name) : rung.name == kPlacementRung) {
      continue;
    }
    open = std::find_if(open, placed.end(),
                        [](const Tag& tag) { return !tag.tagged(); });
    if (before) before(rung, placed);
    if (open != placed.end()) Climb(evidence, rung, placed, &clues);
  }
}

Clues PlaceAll(const Evidence& evidence, const Strategy& strategy,
               Placed& placed, const BeforeRung& before, bool placement) {
  Clues clues = ReadSources(evidence, strategy.set);
  AcceptClues(clues, placed);
  Infer(evidence, strategy.rungs, placed, clues, before, placement);
  return clues;
}

namespace {

// Whether only optimizers write the operator.
bool IsFusedOperator(const Evidence& evidence, NodeId node) {
  return evidence.model.Domain(node).starts_with("com.microsoft") ||
         evidence.graph.ops.Is(node, OpKind::kFused) ||
         evidence.graph.ops[node] == Op::kSimplifiedLayerNormalization;
}

// Whether the node reads a weight of its module, a matrix.
bool ReadsOwnParameter(const Evidence& evidence, NodeId node, ModuleId module) {
  for (const Parameter& parameter :
       evidence.Among(evidence.model.Inputs(node))) {
    if (parameter.trusted && parameter.module == module &&
        parameter.rank >= 2) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Origin> FindOrigins(const Evidence& evidence,
                                const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Origin> origins;
  std::vector<ModuleId> modules;
  for (const NodeId node : model.Nodes()) {
    if (!placed[node].tagged() || evidence.is_carrier[node]) continue;
    const bool fused =
        IsFusedOperator(evidence, node) || evidence.IsFusedName(node);
    // A convolution with the bias of a norm is made of both.
    if (!fused && !ReadsOwnParameter(evidence, node, placed[node].module)) {
      continue;
    }
    modules.clear();
    for (const ScopeId scope :
         {evidence.node_scope[node], evidence.value_scope[node]}) {
      if (fused && scope != kNo<ScopeId>) {
        modules.push_back(evidence.scopes[scope].module);
      }
    }
    for (const ValueId input : model.Inputs(node)) {
      const ParameterId id = evidence.ParameterOf(input);
      if (id != kNo<ParameterId> && evidence.parameters[id].trusted &&
          !hierarchy::UndoTensorName(model.ValueName(input)).beside_weight) {
        modules.push_back(evidence.parameters[id].module);
      }
    }
    // The residual Add before the norm belonged to the caller.
    if (evidence.graph.ops.Is(node, OpKind::kSkip) &&
        placed[node].module != ModuleTree::kRoot) {
      modules.push_back(
          evidence.Callable(evidence.modules.Parent(placed[node].module)));
    }
    SortUnique(modules);
    for (const ModuleId module : modules) {
      if (module != placed[node].module) origins.push_back({node, module});
    }
  }
  // The origins in the names of a builder's packed nodes, and the norms that
  // were folded into a convolution.
  for (const Origin& origin : evidence.origins) {
    if (placed[origin.node].tagged()) origins.push_back(origin);
  }
  SortBy(origins, &Origin::node);
  return origins;
}

}  // namespace onnx_tag
