#include "evidence/evidence.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {

void DescribeModules(Evidence& evidence) {
  const ModuleTree& tree = evidence.modules;
  evidence.called_modules.assign(tree.size(), false);
  for (const ScopeId id : AllIds<ScopeId>(evidence.scopes.size())) {
    evidence.called_modules[Index(evidence.scopes[id].module)] = true;
  }
  evidence.callable.resize(tree.size(), ModuleId{0});
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (id == ModuleId{0}) continue;
    const ModuleId recorded = evidence.known.InMap(id);
    if (recorded != kNo<ModuleId> && evidence.known.map->complete) {
      evidence.callable[id] = evidence.known.map->OnlyHolds(recorded)
                                  ? evidence.callable[tree.Parent(id)]
                                  : id;
      continue;
    }
    bool list = !tree.Children(id).empty() && !evidence.HasParameterAt(id);
    for (const ModuleId child : tree.Children(id)) {
      list = list && hierarchy::IsNumeric(tree.Atom(child));
    }
    // Parents come before their children.
    evidence.callable[id] = list ? evidence.callable[tree.Parent(id)] : id;
  }
}

}  // namespace onnx_tag
