// Reads the modules in names of dialects with their own rules.
#include "evidence/evidence.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {

DialectFacts GatherDialectNames(const Model& model,
                                const ExporterFacts& exporter,
                                ModuleTree& modules) {
  DialectFacts facts;
  if (exporter.names == nullptr) return facts;
  for (const NodeId node : model.Nodes()) {
    const std::optional<NamedModule> named = exporter.names->OfNode(node);
    if (!named || !hierarchy::IsCrediblePath(named->module)) continue;
    facts.name_facts.push_back(
        {node, modules.Add(named->module), named->confidence, named->because});
    for (const std::string& origin : named->origins) {
      if (!hierarchy::IsCrediblePath(origin)) continue;
      facts.origins.push_back({node, modules.Add(origin)});
    }
  }
  return facts;
}

}  // namespace onnx_tag
