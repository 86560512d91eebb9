#include <algorithm>
#include <string_view>
#include <vector>

#include "evidence/evidence.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// A ModuleDict: three modules or more that have the same parts under names,
// and nothing else.
bool IsDictionary(const Evidence& evidence, ModuleId id) {
  const ModuleTree& tree = evidence.modules;
  if (evidence.HasParameterAt(id)) return false;
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
    std::vector<std::string_view> atoms = parts(child);
    if (hierarchy::IsNumeric(tree.Atom(child)) || atoms.empty() ||
        hierarchy::IsNumeric(atoms.front())) {
      return false;
    }
    if (count++ == 0) {
      first = std::move(atoms);
    } else if (atoms != first) {
      return false;
    }
  }
  return count >= 3;
}

}  // namespace

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
    evidence.callable[id] = list || IsDictionary(evidence, id)
                                ? evidence.callable[tree.Parent(id)]
                                : id;
  }
}

}  // namespace onnx_tag
