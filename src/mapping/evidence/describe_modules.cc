// Finds the modules that run, and those that only contain others.
#include <algorithm>
#include <string_view>
#include <vector>

#include "core/hierarchy/name_parts.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

// A ModuleDict: three modules or more that have the same parts under names,
// and nothing else.
bool IsDictionary(const ModuleTree& tree, const ParameterFacts& parameters,
                  ModuleId id) {
  if (parameters.HasParameterAt(id)) return false;
  const auto parts = [&](ModuleId module) {
    std::vector<std::string_view> atoms;
    for (const ModuleId child : tree.Children(module)) {
      atoms.push_back(tree.Atom(child));
    }
    std::sort(atoms.begin(), atoms.end());
    return atoms;
  };
  std::vector<std::string_view> first;
  std::size_t count = 0;
  for (const ModuleId child : tree.Children(id)) {
    if (hierarchy::IsNumeric(tree.Atom(child))) return false;
    std::vector<std::string_view> atoms = parts(child);
    if (atoms.empty() || hierarchy::IsNumeric(atoms.front())) return false;
    if (count++ == 0) {
      first = std::move(atoms);
    } else if (atoms != first) {
      return false;
    }
  }
  return count >= 3;
}

}  // namespace

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
    uses.callable[id] = list || IsDictionary(tree, parameters, id)
                            ? uses.callable[tree.Parent(id)]
                            : id;
  }
  return uses;
}

}  // namespace onnx_tag
