#include "clues/exporters/dynamo/mangled_names.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag {

Mangled Mangle(std::string_view name) {
  // `getattr(L__self___layer1, "0")`, as dynamo writes an item of a list.
  std::size_t begin = 0;
  for (const std::string_view prefix :
       {"getattr_", "L__self___", "l__self___"}) {
    if (name.substr(begin).starts_with(prefix)) begin += prefix.size();
  }
  Mangled result;
  const auto put = [&](char c, std::size_t at) {
    if (c == '_' && (result.text.empty() || result.text.back() == '_')) return;
    result.text += c;
    result.source.push_back(at);
  };
  bool after_lower = false;
  for (std::size_t i = begin; i < name.size(); ++i) {
    char c = name[i];
    if (hierarchy::IsUpper(c)) {
      if (after_lower) put('_', i);
      c = static_cast<char>(c - 'A' + 'a');
      after_lower = false;
    } else {
      after_lower = hierarchy::IsLower(c);
    }
    put(hierarchy::IsWordChar(c) ? c : '_', i);
  }
  if (!result.text.empty() && result.text.back() == '_') {
    result.text.pop_back();
    result.source.pop_back();
  }
  return result;
}

MangledNames::MangledNames(ModuleTree& tree) : tree_(tree) {
  original_.Add(ModuleTree::kRoot);
  counterpart_.Add(ModuleTree::kRoot);
  // A module's id is greater than its parent's.
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) Learn(id);
}

void MangledNames::Learn(ModuleId module) {
  if (Index(module) < counterpart_.size()) return;
  const ModuleId outer = counterpart_[tree_.Parent(module)];
  const std::string atom = Mangle(tree_.Atom(module)).text;
  const ModuleId mangled = atom.empty() ? outer : mangled_.Child(outer, atom);
  counterpart_.Add(mangled);
  // Of two that look alike, the first.
  if (Index(mangled) == original_.size()) original_.Add(module);
}

std::string MangledNames::PathOf(ModuleId module) const {
  std::string path = mangled_.Path(counterpart_[module]);
  for (char& c : path) {
    if (c == '.') c = '_';
  }
  return path;
}

ModuleId MangledNames::AddRest(ModuleId module, std::string_view rest) {
  const auto add = [&](std::string_view atom) {
    module = tree_.Child(module, atom);
    Learn(module);
  };
  // A number is an index, except at the end of a word: `act_1` is a name.
  std::size_t begin = 0;
  for (std::size_t at = 0; at < rest.size();) {
    std::size_t end = rest.find('_', at);
    if (end == std::string_view::npos) end = rest.size();
    if (hierarchy::IsNumeric(rest.substr(at, end - at)) &&
        (at == begin || end < rest.size())) {
      if (at > begin) add(rest.substr(begin, at - begin - 1));
      add(rest.substr(at, end - at));
      begin = end + 1;
    }
    at = end + 1;
  }
  if (begin < rest.size()) add(rest.substr(begin));
  return module;
}

MangledNames::Match MangledNames::Resolve(std::string_view name, ModuleId outer,
                                          const std::vector<bool>& called) {
  const Mangled mangled = Mangle(name);
  const std::string_view text = mangled.text;
  hierarchy::SanitizedMatch match =
      hierarchy::MatchSanitized(mangled_, ModuleTree::kRoot, text);
  if (match.rest.empty()) {
    return {original_[match.module], match.module != ModuleTree::kRoot};
  }
  // Not known to its end: where it is called from says how to begin.
  const std::string path = PathOf(outer);
  if (outer != ModuleTree::kRoot && text.size() > path.size() + 1 &&
      text.starts_with(path) && text[path.size()] == '_') {
    match = hierarchy::MatchSanitized(mangled_, counterpart_[outer],
                                      text.substr(path.size() + 1));
  }
  ModuleId module = original_[match.module];
  std::size_t at = text.size() - match.rest.size();
  while (module != outer && Index(module) < called.size() &&
         called[Index(module)] && tree_.IsAncestor(outer, module)) {
    at -= mangled_.Atom(counterpart_[module]).size() + 1;
    module = tree_.Parent(module);
  }
  const std::size_t from = mangled.source[at];
  const std::size_t to = mangled.source.back() + 1;
  return {AddRest(module, name.substr(from, to - from)), false};
}

ModuleId MangledNames::Find(std::string_view name) const {
  const std::string text = Mangle(name).text;
  const hierarchy::SanitizedMatch match =
      hierarchy::MatchSanitized(mangled_, ModuleTree::kRoot, text);
  return match.rest.empty() && match.module != ModuleTree::kRoot
             ? original_[match.module]
             : kNo<ModuleId>;
}

}  // namespace onnx_tag

namespace onnx_tag::hierarchy {
namespace {

// The longest attribute name worth a look: `embedding_hidden_mapping_in` has 4.
constexpr int kMostWords = 12;
// Modules that are tried for one name, and one more for each letter. Real names
// can be cut in few ways; a hostile tree has a module for each of 2^n.
constexpr std::size_t kMostTried = 512;

bool IsJoint(char c) { return c == '_' || c == '.'; }

}  // namespace

SanitizedMatch MatchSanitized(const ModuleTree& tree, ModuleId from,
                              std::string_view text) {
  struct Step {
    ModuleId module;
    std::size_t at;
  };
  SanitizedMatch best{from, text};
  std::size_t explained = 0;
  std::vector<Step> open = {{from, 0}};
  while (!open.empty() && best.tried < kMostTried + text.size()) {
    ++best.tried;
    const Step step = open.back();
    open.pop_back();
    if (step.at > explained) {
      explained = step.at;
      best.module = step.module;
      best.rest = text.substr(std::min(step.at, text.size()));
    }
    int words = 0;
    for (std::size_t end = step.at; end < text.size() && words < kMostWords;) {
      ++end;
      if (end < text.size() && !IsJoint(text[end])) continue;
      ++words;
      const ModuleId child =
          tree.FindChild(step.module, text.substr(step.at, end - step.at));
      if (child == kNo<ModuleId>) continue;
      open.push_back({child, end + 1});
    }
  }
  return best;
}

}  // namespace onnx_tag::hierarchy
