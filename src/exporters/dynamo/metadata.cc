#include "exporters/dynamo/metadata.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.h"
#include "exporters/dynamo/python_list.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

constexpr std::string_view kNoStack =
    "_empty_nn_module_stack_from_metadata_hook";

void Finish(MetadataScope& scope) {
  scope.known = !scope.scopes.empty();
  if (scope.known) scope.module = scope.scopes.back();
}

// Names and classes without the operation, paths cumulative.
MetadataScope FromStack(const std::vector<std::string>& names,
                        std::vector<std::string> classes) {
  MetadataScope result;
  if (names.size() < 2) return result;
  classes.resize(names.size());
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    if (names[i] == kNoStack) continue;
    result.mangled = false;
    result.scopes.push_back(NormalizeScope(names[i], &result.mangled));
    result.classes.push_back(std::move(classes[i]));
  }
  Finish(result);
  return result;
}

MetadataScope FromRelative(const std::vector<std::string>& names,
                           std::vector<std::string> classes) {
  MetadataScope result;
  classes.resize(names.size());
  std::string path;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && !path.empty()) path += '.';
    path += names[i];
    result.scopes.push_back(path);
    result.classes.push_back(std::move(classes[i]));
  }
  Finish(result);
  return result;
}

struct Stack {
  std::vector<std::string> names;
  std::vector<std::string> classes;
};

Stack ParseLists(std::string_view names, std::string_view classes) {
  Stack stack;
  auto name_list = ParsePythonList(names);
  if (!name_list) return stack;
  stack.names = std::move(*name_list);
  auto class_list = ParsePythonList(classes);
  // Lists that are not parallel say nothing about each other.
  if (class_list && class_list->size() == stack.names.size()) {
    stack.classes = std::move(*class_list);
  }
  return stack;
}

Stack SplitNamespace(std::string_view text) {
  Stack stack;
  if (text.empty()) return stack;
  for (const std::string_view part : Split(text, '/')) {
    const std::size_t colon = part.find(": ");
    stack.names.emplace_back(part.substr(0, colon));
    stack.classes.emplace_back(
        colon == std::string_view::npos ? "" : part.substr(colon + 2));
  }
  return stack;
}

// `slice(2, 6, None)`: which element of the list is element `i` of the slice.
// Unsigned: what a hostile text multiplies to wraps.
struct Slice {
  std::uint64_t start = 0;
  std::uint64_t step = 1;
};

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Nothing where an element counts from the list's end, which nobody knows here.
std::optional<Slice> ParseSlice(std::string_view text) {
  if (!ConsumePrefix(text, "slice(") || !ConsumeSuffix(text, ")")) {
    return std::nullopt;
  }
  const std::vector<std::string_view> parts = Split(text, ',');
  if (parts.size() != 3) return std::nullopt;
  const std::string_view first = Trim(parts[0]);
  const std::string_view by = Trim(parts[2]);
  const int start = first == "None" ? 0 : SmallNumber(first, -1);
  const int step = by == "None" ? 1 : SmallNumber(by, -1);
  if (start < 0 || step <= 0) return std::nullopt;
  return Slice{static_cast<std::uint64_t>(start),
               static_cast<std::uint64_t>(step)};
}

// Splits at dots outside parentheses.
std::string_view NextAtom(std::string_view& rest) {
  std::size_t depth = 0;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    if (rest[at] == '(') ++depth;
    if (rest[at] == ')' && depth > 0) --depth;
    if (rest[at] == '.' && depth == 0) break;
  }
  const std::string_view atom = rest.substr(0, at);
  rest.remove_prefix(at < rest.size() ? at + 1 : at);
  return atom;
}

void AppendAtom(std::string_view atom, std::string& path) {
  if (atom.empty()) return;
  if (!path.empty()) path += '.';
  path += atom;
}

std::string ResolveSlices(std::string_view scope) {
  std::string path;
  Slice slice;
  bool sliced = false;
  while (!scope.empty()) {
    const std::string_view atom = NextAtom(scope);
    if (const auto inner = ParseSlice(atom)) {
      slice = {slice.start + slice.step * inner->start,
               slice.step * inner->step};
      sliced = true;
      continue;
    }
    const int index = SmallNumber(atom, -1);
    if (sliced && index >= 0) {
      AppendAtom(std::to_string(slice.start +
                                slice.step * static_cast<std::uint64_t>(index)),
                 path);
    } else {
      AppendAtom(atom, path);
    }
    slice = {};
    sliced = false;
  }
  return path;
}

// `.h[1]['key'].conv` -> h.1.key.conv
std::string ResolveSubscripts(std::string_view scope) {
  std::string path;
  std::string atom;
  for (const char c : scope) {
    if (c == '.' || c == '[' || c == ']') {
      AppendAtom(atom, path);
      atom.clear();
    } else if (c != '\'' && c != '"') {
      atom += c;
    }
  }
  AppendAtom(atom, path);
  return path;
}

// `getattr(L['self'].layer1, '0').conv1` with `_` for all but letters and
// digits; where two atoms meet there are three of them.
std::string ResolveMangled(std::string_view scope) {
  ConsumePrefix(scope, "_");
  std::string path;
  while (!scope.empty()) {
    const std::size_t at = scope.find("___");
    AppendAtom(scope.substr(0, at), path);
    scope.remove_prefix(at == std::string_view::npos ? scope.size() : at + 3);
  }
  return path;
}

}  // namespace

std::string NormalizeScope(std::string_view scope, bool* mangled) {
  if (ConsumePrefix(scope, "L['self']")) return ResolveSubscripts(scope);
  std::string_view source = scope;
  while (ConsumePrefix(source, "getattr_")) {
  }
  if (ConsumePrefix(source, "L__self__")) {
    if (mangled != nullptr) *mangled = !source.empty();
    return ResolveMangled(source);
  }
  if (scope.find("slice(") != std::string_view::npos) {
    return ResolveSlices(scope);
  }
  return std::string(scope);
}

MetadataScope ParseTorchScopes(std::string_view name_scopes,
                               std::string_view class_hierarchy) {
  Stack stack = ParseLists(name_scopes, class_hierarchy);
  return FromStack(stack.names, std::move(stack.classes));
}

MetadataScope ParseOnnxscriptScopes(std::string_view name_scopes,
                                    std::string_view class_hierarchy) {
  Stack stack = ParseLists(name_scopes, class_hierarchy);
  return FromRelative(stack.names, std::move(stack.classes));
}

MetadataScope ParseTorchNamespace(std::string_view text) {
  Stack stack = SplitNamespace(text);
  return FromStack(stack.names, std::move(stack.classes));
}

std::string_view ShortClass(std::string_view class_path) {
  return LastPart(class_path, '.');
}

}  // namespace onnx_tag::hierarchy
