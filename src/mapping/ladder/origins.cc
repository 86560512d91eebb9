// Finds the other modules of a fused node: an optimizer made it from nodes of
// several modules, and the tag has only one.
#include <algorithm>
#include <array>

#include "clues/exporters/tools/original_name.h"
#include "mapping/ladder/ladder.h"

namespace onnx_tag {
namespace {

// Operators that only optimizers write.
bool IsFusedOperator(std::string_view domain, std::string_view op) {
  if (domain == "com.microsoft" || domain == "com.microsoft.nchwc") return true;
  constexpr std::array<std::string_view, 3> kFused = {
      "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
      "SimplifiedLayerNormalization"};
  return std::find(kFused.begin(), kFused.end(), op) != kFused.end();
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
        IsFusedOperator(model.Domain(node), model.OpType(node)) ||
        evidence.IsFusedName(node);
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
    if (model.OpType(node).starts_with("Skip") &&
        placed[node].module != ModuleId{0}) {
      modules.push_back(
          evidence.Callable(evidence.modules.Parent(placed[node].module)));
    }
    std::sort(modules.begin(), modules.end());
    modules.erase(std::unique(modules.begin(), modules.end()), modules.end());
    for (const ModuleId module : modules) {
      if (module != placed[node].module) origins.push_back({node, module});
    }
  }
  // The origins in the names of a builder's packed nodes.
  for (const Origin& origin : evidence.origins) {
    if (placed[origin.node].tagged()) origins.push_back(origin);
  }
  // The norm that was folded into a convolution.
  for (const Origin& origin : evidence.folded) {
    if (placed[origin.node].tagged()) origins.push_back(origin);
  }
  std::stable_sort(
      origins.begin(), origins.end(),
      [](const Origin& a, const Origin& b) { return a.node < b.node; });
  return origins;
}

}  // namespace onnx_tag
