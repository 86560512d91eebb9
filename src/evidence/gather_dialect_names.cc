// Reads the modules in names of dialects with their own rules.
#include "evidence/evidence.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {

DialectFacts GatherDialectNames(const Model& model,
                                const ExporterFacts& exporter,
                                const ParameterFacts& parameters,
                                ModuleTree& modules) {
  DialectFacts facts;
  if (exporter.names == nullptr) return facts;
  for (const NodeId node : model.Nodes()) {
    const std::optional<NamedModule> named = exporter.names->OfNode(node);
    if (!named || !hierarchy::IsCrediblePath(named->module)) continue;
    const ModuleId module = modules.Add(named->module);
    facts.named.push_back({node, module, named->confidence,
                           parameters.Proves(model, node, module)
                               ? Source::kScopeAndParameter
                               : Source::kScope,
                           named->because});
    for (const std::string& origin : named->origins) {
      if (!hierarchy::IsCrediblePath(origin)) continue;
      facts.origins.push_back({node, modules.Add(origin)});
    }
  }
  return facts;
}

}  // namespace onnx_tag
