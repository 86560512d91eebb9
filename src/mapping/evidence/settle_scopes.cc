#include <vector>

#include "core/hierarchy/name_parts.h"
#include "mapping/evidence/align_scopes.h"

namespace onnx_tag {

ScopeSettler::ScopeSettler(KnownModules& known, ModuleTree& modules)
    : known_(known), modules_(modules) {
  if (known.map == nullptr || !known.map->complete) return;
  map_ = known.map.get();
  for (const ModuleId id : AllIds<ModuleId>(map_->tree.size())) {
    if (id == ModuleTree::kRoot) continue;
    Namesakes& namesakes = by_atom_[map_->tree.Atom(id)];
    if (namesakes.count++ == 0) namesakes.first = id;
  }
}

ModuleId ScopeSettler::Child(ModuleId in_map,
                             std::span<const std::string_view> atoms) const {
  for (const std::string_view atom : atoms) {
    if (in_map == kNo<ModuleId>) break;
    in_map = map_->tree.FindChild(in_map, atom);
  }
  return in_map;
}

bool ScopeSettler::Exists(ModuleId outer,
                          std::span<const std::string_view> atoms) const {
  if (map_ == nullptr) return false;
  const ModuleId in_map = known_.InMap(outer);
  return in_map != kNo<ModuleId> && Child(in_map, atoms) != kNo<ModuleId>;
}

ModuleId ScopeSettler::OnlyBelow(
    ModuleId in_map, std::span<const std::string_view> atoms) const {
  // The search is limited to the modules around the scope.
  constexpr std::size_t kMaxVisits = 1024;
  std::vector<ModuleId> level = {in_map};
  std::size_t visits = 0;
  while (!level.empty()) {
    std::vector<ModuleId> below;
    ModuleId found = kNo<ModuleId>;
    for (const ModuleId at : level) {
      for (const ModuleId child : map_->tree.Children(at)) {
        if (++visits > kMaxVisits) return kNo<ModuleId>;
        below.push_back(child);
        const ModuleId target = Child(child, atoms);
        if (target == kNo<ModuleId>) continue;
        if (found != kNo<ModuleId>) return kNo<ModuleId>;
        found = target;
      }
    }
    if (found != kNo<ModuleId>) return found;
    level = std::move(below);
  }
  return kNo<ModuleId>;
}

ModuleId ScopeSettler::OnlyAnywhere(
    std::span<const std::string_view> atoms) const {
  // An index alone does not identify a module.
  if (atoms.empty() || hierarchy::IsNumeric(atoms.back())) {
    return kNo<ModuleId>;
  }
  const auto at = by_atom_.find(atoms.back());
  if (at == by_atom_.end() || at->second.count != 1) return kNo<ModuleId>;
  ModuleId up = at->second.first;
  for (std::size_t i = atoms.size(); i-- > 0;) {
    if (up == ModuleTree::kRoot || map_->tree.Atom(up) != atoms[i]) {
      return kNo<ModuleId>;
    }
    up = map_->tree.Parent(up);
  }
  return at->second.first;
}

Settled ScopeSettler::Settle(ModuleId outer,
                             std::span<const std::string_view> atoms) {
  if (map_ == nullptr) return {};
  const ModuleId in_map = known_.InMap(outer);
  if (in_map == kNo<ModuleId>) return {};
  Settled settled;
  ModuleId found = Child(in_map, atoms);
  settled.named = found != kNo<ModuleId>;
  if (found == kNo<ModuleId>) found = OnlyBelow(in_map, atoms);
  if (found == kNo<ModuleId>) found = OnlyAnywhere(atoms);
  if (found != kNo<ModuleId>) settled.module = known_.Add(found, modules_);
  return settled;
}

}  // namespace onnx_tag
