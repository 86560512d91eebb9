// Nodes that use a named parameter belong to its owner.
#include <array>

#include "mapping/claim.h"
#include "mapping/graph_patterns.h"

namespace onnx_tag {
namespace {

// The module that owns the node's parameters, or kNo where they disagree.
struct Owner {
  ModuleId module = kNo<ModuleId>;
  bool matrix = false;  // a weight of rank 2 or more says so
};

Owner OwnerOf(const Evidence& evidence, NodeId node) {
  Owner owner;
  for (const ValueId input : evidence.model.Inputs(node)) {
    const ParameterId id = evidence.ParameterOf(input);
    if (id == kNo<ParameterId>) continue;
    const Parameter& parameter = evidence.parameters[id];
    if (!parameter.trusted) continue;
    const bool matrix = parameter.rank >= 2;
    if (owner.module == kNo<ModuleId> || (matrix && !owner.matrix)) {
      owner = {parameter.module, matrix};
    } else if (owner.module != parameter.module && matrix == owner.matrix) {
      owner.module = evidence.modules.CommonAncestor(owner.module,
                                                     parameter.module);
    }
  }
  return owner;
}

}  // namespace

std::vector<Claim> ProposeFromParameters(const Evidence& evidence,
                                         const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  for (const NodeId node : model.Nodes()) {
    if (placed[node].tagged() || evidence.is_carrier[node]) continue;
    const Owner owner = OwnerOf(evidence, node);
    if (owner.module == kNo<ModuleId>) continue;
    claims.push_back({node, owner.module, Confidence::kHigh,
                      Source::kParameter, "it uses a parameter of this module"});
    // The bias of a Linear is added to its MatMul, whose weight may have been
    // transposed and renamed.
    if (model.OpType(node) != "Add") continue;
    const NodeId matmul = MatMulBefore(evidence, node);
    if (matmul == kNo<NodeId> || placed[matmul].tagged()) continue;
    if (OwnerOf(evidence, matmul).module != kNo<ModuleId>) continue;
    claims.push_back({matmul, owner.module, Confidence::kHigh,
                      Source::kOperation,
                      "the bias of this module is added to its result"});
  }
  return claims;
}

}  // namespace onnx_tag
