#include <algorithm>

#include "base/hash.h"
#include "core/hierarchy/name_parts.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag {
namespace {

// Calls `visit(atom)` for each atom of a dotted path until it returns false.
template <typename Visit>
void ForEachAtom(std::string_view path, Visit visit) {
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view atom = path.substr(0, dot);
    if (!atom.empty() && !visit(atom)) return;
    if (dot == std::string_view::npos) return;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

ModuleTree::ModuleTree() {
  Intern("");
  modules_.Add(Module());
}

ModuleTree::ModuleTree(const ModuleTree& other)
    : modules_(other.modules_),
      by_name_(other.by_name_),
      texts_(other.texts_),
      left_out_(other.left_out_),
      left_out_count_(other.left_out_count_) {
  for (const std::string& text : texts_) interner_.Intern(text);
}

ModuleTree& ModuleTree::operator=(const ModuleTree& other) {
  if (this != &other) *this = ModuleTree(other);
  return *this;
}

ModuleTree::TextId ModuleTree::Intern(std::string_view text) {
  const TextId known = interner_.Find(text);
  if (known != kNo<TextId>) return known;
  return interner_.Intern(texts_.emplace_back(text));
}

// Paths come in the order of the model: mostly the child is the last one, and
// its name is compared without a search for it.
ModuleId ModuleTree::LastChild(ModuleId parent, std::string_view atom) const {
  const ModuleId last = modules_[parent].last_child;
  return last != kNo<ModuleId> && Atom(last) == atom ? last : kNo<ModuleId>;
}

std::uint32_t ModuleTree::Hash(ModuleId parent, TextId atom) {
  return static_cast<std::uint32_t>(HashMix(Index(parent), Index(atom)) >> 32);
}

ModuleId ModuleTree::FindChild(ModuleId parent, TextId atom) const {
  std::uint32_t seen = 0;
  for (const ModuleId child : Children(parent)) {
    if (modules_[child].atom == atom) return child;
    if (++seen == kFewChildren) {
      return by_name_.Find(Hash(parent, atom), [&](ModuleId id) {
        return modules_[id].parent == parent && modules_[id].atom == atom &&
               !IsLeftOut(id);
      });
    }
  }
  return kNo<ModuleId>;
}

ModuleId ModuleTree::Child(ModuleId parent, std::string_view atom) {
  const ModuleId last = LastChild(parent, atom);
  if (last != kNo<ModuleId>) return last;
  const TextId text = Intern(atom);
  const ModuleId known = FindChild(parent, text);
  if (known != kNo<ModuleId>) return known;
  Module child;
  child.parent = parent;
  child.atom = text;
  child.depth = modules_[parent].depth + 1;
  const ModuleId id = modules_.Add(child);
  Link(id);
  if (modules_[parent].children > kFewChildren) {
    by_name_.Add(Hash(parent, text), id);
  }
  return id;
}

// Adds a module behind the children of its parent.
void ModuleTree::Link(ModuleId id) {
  Module& above = modules_[modules_[id].parent];
  if (above.last_child == kNo<ModuleId>) {
    above.first_child = id;
  } else {
    modules_[above.last_child].next_sibling = id;
  }
  above.last_child = id;
  ++above.children;
}

void ModuleTree::KeepOnly(const IdVector<ModuleId, bool>& kept) {
  left_out_.resize(modules_.size(), false);
  bool any = false;
  for (const ModuleId id : AllIds<ModuleId>(modules_.size())) {
    if (kept[id] || left_out_[id]) continue;
    left_out_[id] = true;
    ++left_out_count_;
    any = true;
  }
  if (!any) return;
  for (Module& module : modules_) {
    module.children = 0;
    module.first_child = module.last_child = kNo<ModuleId>;
    module.next_sibling = kNo<ModuleId>;
  }
  for (const ModuleId id : All()) {
    if (id != kRoot) Link(id);
  }
}

ModuleId ModuleTree::FindChild(ModuleId parent, std::string_view atom) const {
  const ModuleId last = LastChild(parent, atom);
  if (last != kNo<ModuleId>) return last;
  const TextId text = interner_.Find(atom);
  return text == kNo<TextId> ? kNo<ModuleId> : FindChild(parent, text);
}

ModuleId ModuleTree::Add(std::string_view dotted_path) {
  ModuleId at = kRoot;
  ForEachAtom(dotted_path, [&](std::string_view atom) {
    at = Child(at, atom);
    return true;
  });
  return at;
}

ModuleId ModuleTree::Find(std::string_view dotted_path) const {
  ModuleId at = kRoot;
  ForEachAtom(dotted_path, [&](std::string_view atom) {
    at = FindChild(at, atom);
    return at != kNo<ModuleId>;
  });
  return at;
}

std::string ModuleTree::Path(ModuleId id) const {
  std::size_t size = 0;
  for (ModuleId at = id; at != kRoot; at = Parent(at)) {
    size += Atom(at).size() + 1;
  }
  if (size == 0) return "";
  std::string path(size - 1, '.');
  std::size_t end = path.size();
  for (ModuleId at = id; at != kRoot; at = Parent(at)) {
    const std::string_view atom = Atom(at);
    path.replace(end - atom.size(), atom.size(), atom);
    end -= atom.size() + (Parent(at) == kRoot ? 0 : 1);
  }
  return path;
}

ModuleId ModuleTree::CommonAncestor(ModuleId a, ModuleId b) const {
  while (a != b) {
    // The id of an ancestor is smaller. So the greater of two ids is not an
    // ancestor of the other.
    ModuleId& lower = Index(a) > Index(b) ? a : b;
    lower = Parent(lower);
  }
  return a;
}

ModuleId ModuleTree::Join(ModuleId a, ModuleId b) const {
  if (a == kNo<ModuleId>) return b;
  return b == kNo<ModuleId> ? a : CommonAncestor(a, b);
}

ModuleTree::Atoms ModuleTree::AtomsBelow(ModuleId ancestor,
                                         ModuleId module) const {
  Atoms atoms;
  for (ModuleId at = module; at != ancestor; at = Parent(at)) {
    atoms.push_back(Atom(at));
  }
  std::reverse(atoms.begin(), atoms.end());
  return atoms;
}

ModuleId ModuleTree::Down(ModuleId from,
                          std::span<const std::string_view> atoms) const {
  for (const std::string_view atom : atoms) {
    if (from == kNo<ModuleId>) break;
    from = FindChild(from, atom);
  }
  return from;
}

ModuleId ModuleTree::AddDown(ModuleId from,
                             std::span<const std::string_view> atoms) {
  for (const std::string_view atom : atoms) from = Child(from, atom);
  return from;
}

ModuleId ModuleTree::Without(ModuleId module,
                             std::span<const std::string_view> atoms) const {
  for (std::size_t i = atoms.size(); i-- > 0;) {
    if (module == kRoot || Atom(module) != atoms[i]) return kNo<ModuleId>;
    module = Parent(module);
  }
  return module;
}

bool ModuleTree::IsList(ModuleId id) const {
  for (const ModuleId child : Children(id)) {
    if (!hierarchy::IsNumeric(Atom(child))) return false;
  }
  return !Children(id).empty();
}

bool ModuleTree::IsAncestor(ModuleId ancestor, ModuleId module) const {
  const std::size_t depth = Depth(ancestor);
  while (Depth(module) > depth) module = Parent(module);
  return module == ancestor;
}

bool ModuleTree::InOtherLayer(ModuleId a, ModuleId b) const {
  const ModuleId common = CommonAncestor(a, b);
  const auto parts_at_index = [&](ModuleId module) {
    if (module == common) return false;
    while (Parent(module) != common) module = Parent(module);
    return hierarchy::IsNumeric(Atom(module));
  };
  return parts_at_index(a) && parts_at_index(b);
}

void ModuleTree::SetClass(ModuleId id, std::string_view class_name) {
  const TextId text = Intern(class_name);
  modules_[id].class_name = text;
}

}  // namespace onnx_tag
