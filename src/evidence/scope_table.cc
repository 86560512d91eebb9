#include "evidence/scope_table.h"

#include "hierarchy/name_parts.h"

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

}  // namespace onnx_tag
