// Scopes out of the names of nodes and of the values they make.
#include "evidence/evidence.h"
#include "exporters/onnxscript/onnxscript_nn.h"
#include "exporters/tools/original_name.h"
#include "exporters/torchscript/torchscript.h"

namespace onnx_tag {

void GatherScopes(Evidence& evidence) {
  const Model& model = evidence.model;
  evidence.node_scope.resize(model.node_count(), kNo<ScopeId>);
  evidence.value_scope.resize(model.node_count(), kNo<ScopeId>);
  evidence.converter_name.resize(model.node_count(), false);
  if (evidence.names != nullptr) return;  // they are no TorchScript scopes
  for (const NodeId node : model.Nodes()) {
    const hierarchy::Undone name = hierarchy::UndoNodeName(model[node].name);
    evidence.converter_name[node] = name.cast || name.quantizer;
    // Two Reshapes that became one are what their result says, not the first.
    const bool merged = model[node].name.ends_with("_new_reshape");
    if (const auto split = hierarchy::SplitScopedName(name.name);
        split.ok && !merged) {
      evidence.node_scope[node] = evidence.scopes.Intern(split.scope);
    }
    for (const ValueId value : model.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const hierarchy::Undone output =
          hierarchy::UndoTensorName(model.ValueName(value));
      const auto split = hierarchy::SplitValueName(output.name);
      if (!split.ok) continue;
      evidence.value_scope[node] = evidence.scopes.Intern(split.scope);
      break;
    }
  }
}

}  // namespace onnx_tag
