// Keras on torch: layers are no torch modules, so that every name and all
// metadata say the root.
#include "mapping/claim.h"

namespace onnx_tag {
namespace {

// A float weight that has no parameter's name.
bool HasNamelessWeight(const Evidence& evidence) {
  for (const Initializer& tensor : evidence.model.initializers()) {
    if (tensor.rank >= 2 &&
        evidence.value_parameter[tensor.value] == kNo<ParameterId>) {
      return true;
    }
  }
  return false;
}

}  // namespace

void GatherKerasOnTorch(Evidence& evidence) {
  if (!evidence.parameters.empty() || evidence.scopes.size() > 1) return;
  if (!evidence.metadata.empty() || !HasNamelessWeight(evidence)) return;
  bool any = false;
  for (const NodeId node : evidence.model.Nodes()) {
    any |= evidence.node_scope[node] != kNo<ScopeId>;
  }
  if (!any) return;
  evidence.root_scopes_are_mute = true;
  evidence.notes.push_back(
      "every scope is the root and no weight has a name: the layers are no "
      "torch modules");
  for (const NodeId node : evidence.model.Nodes()) {
    evidence.node_scope[node] = kNo<ScopeId>;
    evidence.value_scope[node] = kNo<ScopeId>;
    evidence.name_trace[node] = NameTrace::kNone;
  }
}

std::vector<Claim> ProposeMuteRoot(const Evidence& evidence,
                                   const Placed& placed) {
  std::vector<Claim> claims;
  if (!evidence.root_scopes_are_mute) return claims;
  for (const NodeId node : evidence.model.Nodes()) {
    if (placed[node].tagged()) continue;
    claims.push_back({node, ModuleId{0}, Confidence::kLow, Source::kScope,
                      "its name says the root, as every name of this file"});
  }
  return claims;
}

}  // namespace onnx_tag
