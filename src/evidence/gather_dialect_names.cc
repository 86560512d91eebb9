#include "evidence/evidence.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {

std::string FileDialect(const Evidence& evidence) {
  return std::string(hierarchy::DialectName(evidence.dialect));
}

void GatherDialectNames(Evidence& evidence) {
  if (evidence.names == nullptr) return;
  for (const NodeId node : evidence.model.Nodes()) {
    const std::optional<NamedModule> named = evidence.names->OfNode(node);
    if (!named || !hierarchy::IsCrediblePath(named->module)) continue;
    evidence.name_facts.push_back({node, evidence.modules.Add(named->module),
                                   named->confidence, named->because});
    for (const std::string& origin : named->origins) {
      if (!hierarchy::IsCrediblePath(origin)) continue;
      evidence.origins.push_back({node, evidence.modules.Add(origin)});
    }
  }
}

}  // namespace onnx_tag
