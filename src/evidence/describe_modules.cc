// Which modules run, and which only hold others.
#include "evidence/evidence.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {

ModuleUses DescribeModules(const ModuleTree& tree, const ScopeTable& scopes,
                           const ParameterFacts& parameters,
                           const KnownModules& known) {
  ModuleUses uses;
  uses.called_modules.assign(tree.size(), false);
  for (const ScopeId id : AllIds<ScopeId>(scopes.size())) {
    uses.called_modules[Index(scopes[id].module)] = true;
  }
  uses.callable.resize(tree.size(), ModuleId{0});
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (id == ModuleId{0}) continue;
    const ModuleId recorded = known.InMap(id);
    if (recorded != kNo<ModuleId> && known.map->complete) {
      uses.callable[id] =
          known.map->OnlyHolds(recorded) ? uses.callable[tree.Parent(id)] : id;
      continue;
    }
    bool list = !tree.Children(id).empty() && !parameters.HasParameterAt(id);
    for (const ModuleId child : tree.Children(id)) {
      list = list && hierarchy::IsNumeric(tree.Atom(child));
    }
    // Parents come before their children.
    uses.callable[id] = list ? uses.callable[tree.Parent(id)] : id;
  }
  return uses;
}

}  // namespace onnx_tag
