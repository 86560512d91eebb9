#include "mapping/evidence/file_modules.h"

namespace onnx_tag {
namespace {

ModuleId OwnerOf(const Model& model, const ParameterFacts& parameters,
                 NodeId node) {
  if (parameters.is_carrier[node]) return kNo<ModuleId>;
  for (const ValueId input : model.Inputs(node)) {
    const ParameterId id = parameters.ParameterOf(input);
    if (id != kNo<ParameterId> && parameters.parameters[id].trusted &&
        parameters.parameters[id].module != ModuleTree::kRoot) {
      return parameters.parameters[id].module;
    }
  }
  return kNo<ModuleId>;
}

}  // namespace

FileModules::FileModules(const Model& model, const ScopeFacts& scopes,
                         const ParameterFacts& parameters,
                         const MetadataFacts& metadata,
                         const ModuleTree& modules)
    : paths_(modules.size()), of_node_(model.node_count(), nullptr) {
  for (const ModuleId id : AllIds<ModuleId>(paths_.size())) {
    paths_[id] = modules.Path(id);
  }
  for (const NodeId node : model.Nodes()) {
    const ModuleId module = OwnerOf(model, parameters, node);
    if (module != kNo<ModuleId>) Set(node, module);
    const ScopeId scope = scopes.node_scope[node];
    if (scope != kNo<ScopeId>) Set(node, scopes.scopes[scope].module);
  }
  for (const Claim& fact : metadata.metadata) {
    Set(fact.node, fact.module);
  }
}

}  // namespace onnx_tag
