#include "mapping/evidence/scope_table.h"

#include "core/hierarchy/name_parts.h"

namespace onnx_tag {

ScopeTable::ScopeTable() {
  interner_.Intern("");
  scopes_.Add(Scope());
}

ScopeId ScopeTable::Intern(std::string_view text) {
  // A node and its output have the same scope, nodes of a scope follow each
  // other, and so do scopes in the same scope.
  if (scopes_[last_].text == text) return last_;
  if (const ScopeId around = scopes_[last_].parent;
      around != kNo<ScopeId> && scopes_[around].text == text) {
    return last_ = around;
  }
  ScopeId id = interner_.Find(text);
  if (id != kNo<ScopeId>) return last_ = id;
  // Adding every prefix of it would be quadratic.
  if (!hierarchy::IsCrediblePath(text)) return id;
  const std::size_t segment = text.rfind('/') + 1;  // 0 without a slash
  const ScopeId parent = Intern(text.substr(0, segment == 0 ? 0 : segment - 1));
  id = interner_.Intern(text);
  scopes_.Add({.text = text,
               .parent = parent,
               .segment = static_cast<std::uint32_t>(segment)});
  scopes_[parent].has_children = true;
  return last_ = id;
}

bool ScopeTable::IsFolded(ScopeId id) const {
  const ScopeId parent = scopes_[id].parent;
  if (parent == kNo<ScopeId> || parent == ScopeId{0}) return false;
  const std::string_view segment = Segment(id);
  const std::string_view outer = Segment(parent);
  return !outer.empty() && segment.size() > outer.size() + 1 &&
         segment.starts_with(outer) && segment[outer.size()] == '.' &&
         hierarchy::IsNumeric(segment.substr(outer.size() + 1));
}

void ScopeTable::ReadAtoms(ScopeId id,
                           std::vector<std::string_view>& atoms) const {
  std::string_view segment = Segment(id);
  atoms.clear();
  if (IsFolded(id)) segment.remove_prefix(segment.rfind('.') + 1);
  while (!segment.empty()) {
    const std::size_t dot = segment.find('.');
    if (dot != 0) atoms.push_back(segment.substr(0, dot));
    segment.remove_prefix(dot == std::string_view::npos ? segment.size()
                                                        : dot + 1);
  }
}

}  // namespace onnx_tag
