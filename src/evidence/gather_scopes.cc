// Reads scopes from the names of nodes and of their outputs.
#include "evidence/evidence.h"
#include "exporters/onnxscript/onnxscript_nn.h"
#include "exporters/tools/original_name.h"
#include "exporters/torchscript/torchscript.h"

namespace onnx_tag {

ScopeFacts GatherScopes(const Model& model, const ExporterFacts& exporter) {
  ScopeFacts facts;
  facts.node_scope.resize(model.node_count(), kNo<ScopeId>);
  facts.value_scope.resize(model.node_count(), kNo<ScopeId>);
  facts.converter_name.resize(model.node_count(), false);
  facts.fused_name.resize(model.node_count(), false);
  for (const NodeId node : model.Nodes()) {
    const bool plain = exporter.IsPlain(node);
    const hierarchy::Undone name =
        plain ? hierarchy::Undone{.name = model[node].name}
              : hierarchy::UndoNodeName(model[node].name);
    facts.fused_name[node] = name.fused;
    if (exporter.names != nullptr) continue;  // they are not TorchScript scopes
    facts.converter_name[node] = name.cast || name.quantizer;
    // If two Reshapes were merged, the name of the result is correct, not the
    // name of the first.
    const bool merged = model[node].name.ends_with("_new_reshape");
    const auto scoped = hierarchy::SplitScopedName(name.name);
    if (scoped.ok && !merged) {
      facts.node_scope[node] = facts.scopes.Intern(scoped.scope);
    }
    for (const ValueId value : model.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const std::string_view made = model.ValueName(value);
      if (plain && scoped.ok && hierarchy::IsOutputOf(made, name.name)) {
        facts.value_scope[node] = facts.scopes.Intern(scoped.scope);
        break;
      }
      const hierarchy::Undone output = hierarchy::UndoTensorName(made);
      const auto split = hierarchy::SplitValueName(output.name);
      if (!split.ok) continue;
      facts.value_scope[node] = facts.scopes.Intern(split.scope);
      break;
    }
  }
  return facts;
}

}  // namespace onnx_tag
