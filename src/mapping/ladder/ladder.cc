// The ladder: rungs in order, the first claim on a node wins. Then the other
// modules of a fused node: an optimizer made it from nodes of several modules,
// and the tag has only one.
#include "mapping/ladder/ladder.h"

#include <algorithm>
#include <cassert>

#include "base/lists.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/walk.h"

namespace onnx_tag {
namespace {

// The body of a module's function belongs to the module or to modules it calls.
bool LeavesFunction(const Evidence& evidence, const Claim& claim) {
  if (claim.source != Source::kLocality) return false;
  const FunctionId owner =
      evidence.functions.OwnerOf(evidence.model[claim.node].graph);
  if (owner == kNo<FunctionId>) return false;
  const ModuleId module = evidence.functions[owner].module;
  return module != kNo<ModuleId> &&
         !evidence.modules.IsAncestor(module, claim.module);
}

}  // namespace

std::optional<Claim> Admit(const Evidence& evidence, Claim claim) {
  if (claim.source == Source::kRule) return claim;  // the user knows better
  if (LeavesFunction(evidence, claim)) return std::nullopt;
  const bool inferred =
      claim.source == Source::kOperation || claim.source == Source::kLocality;
  if (inferred && evidence.IsContradicted(claim.node, claim.module)) {
    return std::nullopt;
  }
  if (!evidence.IsImpossible(claim.module)) return claim;
  if (inferred) return std::nullopt;
  while (evidence.IsImpossible(claim.module)) {
    claim.module = evidence.modules.Parent(claim.module);
  }
  claim.confidence = std::min(claim.confidence, Confidence::kMedium);
  claim.source = Source::kHierarchy;
  claim.because =
      "the hierarchy does not have the module in its name, but has this parent";
  return claim;
}

std::vector<Claim> Rung::Propose(const Evidence& evidence,
                                 const Placed& placed) const {
  std::vector<Claim> claims = propose(evidence, placed);
  for (Claim& claim : claims) {
    assert(claim.confidence <= highest);
    claim.confidence = std::min(claim.confidence, highest);
  }
  if (part != Part::kAll) {
    std::erase_if(claims, [&](const Claim& claim) {
      return (claim.confidence == Confidence::kCertain) !=
             (part == Part::kCertain);
    });
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
                         Placed& placed) {
  std::vector<Claim> claims = rung.Propose(evidence, placed);
  std::size_t accepted = 0;
  for (const Claim& proposed : claims) {
    if (placed[proposed.node].tagged()) continue;
    const std::optional<Claim> claim = Admit(evidence, proposed);
    if (!claim) continue;
    Accept(*claim,
           rung.serves_nodes
               ? KindServed(evidence.model, *claim, rung.kind, placed)
               : rung.kind,
           placed);
    claims[accepted++] = *claim;
  }
  claims.resize(accepted);
  return claims;
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
  for (const auto* const more : {&evidence.origins, &evidence.folded}) {
    for (const Origin& origin : *more) {
      if (placed[origin.node].tagged()) origins.push_back(origin);
    }
  }
  SortBy(origins, &Origin::node);
  return origins;
}

}  // namespace onnx_tag
