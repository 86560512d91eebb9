#include "clues/exporters/dynamo/metadata.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

constexpr std::string_view kNoStack =
    "_empty_nn_module_stack_from_metadata_hook";

struct Stack {
  std::vector<std::string> names;
  std::vector<std::string> classes;
};

void AppendAtom(std::string_view atom, std::string& path) {
  if (atom.empty()) return;
  if (!path.empty()) path += '.';
  path += atom;
}

// torch's names are cumulative, and the last one is the operation.
MetadataScope FromTorch(Stack stack) {
  MetadataScope result;
  stack.classes.resize(stack.names.size());
  for (std::size_t i = 0; i + 1 < stack.names.size(); ++i) {
    if (stack.names[i] == kNoStack) continue;
    result.module = NormalizeScope(stack.names[i]);
    result.scopes.push_back(result.module);
    result.classes.push_back(std::move(stack.classes[i]));
  }
  result.known = !result.scopes.empty();
  return result;
}

MetadataScope FromRelative(Stack stack) {
  MetadataScope result;
  for (const std::string& name : stack.names) {
    AppendAtom(name, result.module);
    result.scopes.push_back(result.module);
  }
  result.classes = std::move(stack.classes);
  result.classes.resize(result.scopes.size());
  result.known = !result.scopes.empty();
  return result;
}

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

std::string NormalizeScope(std::string_view scope) {
  if (ConsumePrefix(scope, "L['self']")) return ResolveSubscripts(scope);
  std::string_view source = scope;
  while (ConsumePrefix(source, "getattr_")) {
  }
  if (ConsumePrefix(source, "L__self__")) return ResolveMangled(source);
  if (scope.find("slice(") != std::string_view::npos) {
    return ResolveSlices(scope);
  }
  return std::string(scope);
}

MetadataScope ParseTorchScopes(std::string_view name_scopes,
                               std::string_view class_hierarchy) {
  return FromTorch(ParseLists(name_scopes, class_hierarchy));
}

MetadataScope ParseOnnxscriptScopes(std::string_view name_scopes,
                                    std::string_view class_hierarchy) {
  return FromRelative(ParseLists(name_scopes, class_hierarchy));
}

MetadataScope ParseTorchNamespace(std::string_view text) {
  // Without classes it is another program's: Model Explorer takes any path.
  if (text.find(": ") == std::string_view::npos) return {};
  return FromTorch(SplitNamespace(text));
}

std::string_view ShortClass(std::string_view class_path) {
  return LastPart(class_path, '.');
}

namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class ListReader {
 public:
  explicit ListReader(std::string_view text) : rest_(text) {}

  std::optional<std::vector<std::string>> Read() {
    SkipSpace();
    if (!ConsumePrefix(rest_, "[")) return std::nullopt;
    std::vector<std::string> items;
    for (SkipSpace(); !ConsumePrefix(rest_, "]"); SkipSpace()) {
      std::string item;
      if (!ReadItem(item)) return std::nullopt;
      items.push_back(std::move(item));
      SkipSpace();
      if (ConsumePrefix(rest_, ",")) continue;
      if (!rest_.starts_with(']')) return std::nullopt;
    }
    SkipSpace();
    if (!rest_.empty()) return std::nullopt;
    return items;
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
  }

  bool ReadItem(std::string& item) {
    if (rest_.empty()) return false;
    return rest_[0] == '\'' || rest_[0] == '"' ? ReadQuoted(item)
                                               : ReadBare(item);
  }

  bool ReadQuoted(std::string& item) {
    const char quote = rest_[0];
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == quote) return true;
      if (c != '\\') {
        item += c;
      } else if (!ReadEscape(item)) {
        return false;
      }
    }
    return false;
  }

  bool ReadEscape(std::string& item) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) return ReadCode(digits, item);
    // In pairs: what stands behind the backslash, and what it means.
    constexpr std::string_view kPairs = "n\nt\tr\rb\bf\f\\\\''\"\"//";
    for (std::size_t i = 0; i < kPairs.size(); i += 2) {
      if (kPairs[i] != c) continue;
      item += kPairs[i + 1];
      return true;
    }
    item += '\\';  // Python keeps what it does not know.
    item += c;
    return true;
  }

  bool ReadHex(std::size_t digits, std::uint32_t& code) {
    if (rest_.size() < digits) return false;
    const char* const end = rest_.data() + digits;
    const auto read = std::from_chars(rest_.data(), end, code, 16);
    if (read.ec != std::errc() || read.ptr != end) return false;
    rest_.remove_prefix(digits);
    return true;
  }

  bool ReadCode(std::size_t digits, std::string& item) {
    std::uint32_t code = 0;
    if (!ReadHex(digits, code)) return false;
    // JSON writes what lies beyond U+FFFF as two surrogates.
    if (code >= 0xd800 && code < 0xdc00 && rest_.starts_with("\\u")) {
      const std::string_view before = rest_;
      rest_.remove_prefix(2);
      std::uint32_t low = 0;
      if (ReadHex(4, low) && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        rest_ = before;
      }
    }
    AppendUtf8(code, item);
    return true;
  }

  bool ReadBare(std::string& item) {
    std::size_t depth = 0;
    std::size_t size = 0;
    for (; size < rest_.size(); ++size) {
      const char c = rest_[size];
      if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ']')) {
        break;
      } else if (c == ')' || c == ']' || c == '}') {
        if (depth == 0) return false;
        --depth;
      } else if (depth > 0 && (c == '\'' || c == '"')) {
        // A bracket in a string inside brackets is text.
        for (++size; size < rest_.size() && rest_[size] != c; ++size) {
          if (rest_[size] == '\\') ++size;
        }
      }
    }
    if (size >= rest_.size()) return false;
    std::string_view bare = rest_.substr(0, size);
    rest_.remove_prefix(size);
    while (!bare.empty() && IsSpace(bare.back())) bare.remove_suffix(1);
    item = bare;
    return !bare.empty();
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<std::string>> ParsePythonList(std::string_view text) {
  return ListReader(text).Read();
}

}  // namespace onnx_tag::hierarchy
