#include "mapping/scope_table.h"

#include <algorithm>

namespace onnx_tag {
namespace {

// Real call stacks are a dozen deep; past this a name is hostile, and adding
// every prefix of it would be quadratic.
constexpr std::ptrdiff_t kMaxSegments = 200;

}  // namespace

ScopeTable::ScopeTable() {
  interner_.Intern("");
  scopes_.Add(Scope());
}

ScopeId ScopeTable::Intern(std::string_view text) {
  ScopeId id = interner_.Find(text);
  if (id != kNo<ScopeId>) return id;
  if (std::count(text.begin(), text.end(), '/') > kMaxSegments) return id;
  const std::size_t slash = text.rfind('/');
  const ScopeId parent =
      Intern(slash == std::string_view::npos ? std::string_view()
                                             : text.substr(0, slash));
  id = interner_.Intern(text);
  scopes_.Add({.text = text, .parent = parent});
  scopes_[parent].has_children = true;
  return id;
}

std::string_view ScopeTable::Segment(ScopeId id) const {
  const std::string_view text = scopes_[id].text;
  const std::size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

}  // namespace onnx_tag
