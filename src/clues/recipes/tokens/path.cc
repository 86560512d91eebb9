#include "clues/recipes/tokens/path.h"

#include <algorithm>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::recipes {

Atom AtomTable::Of(std::string_view text) {
  const int number = hierarchy::SmallNumber(text, -1);
  // "007" is a name, because its text must be preserved.
  if (number >= 0 && (text.size() == 1 || text[0] != '0')) {
    return MakeIndex(static_cast<std::uint32_t>(number));
  }
  const NameId known = names_.Find(text);
  if (known != kNo<NameId>) return static_cast<Atom>(known);
  return static_cast<Atom>(names_.Intern(texts_.emplace_back(text)));
}

Path AtomTable::Read(std::string_view dotted) {
  Path path;
  if (dotted.empty()) return path;
  for (const std::string_view atom : Split(dotted, '.')) {
    path.push_back(Of(atom));
  }
  return path;
}

std::string AtomTable::Text(const Path& path) const {
  std::string text;
  for (const Atom atom : path) {
    if (!text.empty()) text += '.';
    if (IsIndex(atom)) {
      text += atom == kAnyIndex ? "*" : std::to_string(IndexOf(atom));
    } else {
      text += names_[MakeId<NameId>(atom)];
    }
  }
  return text;
}

Path Generic(Path path) {
  for (Atom& atom : path) {
    if (IsIndex(atom)) atom = kAnyIndex;
  }
  return path;
}

bool StartsWith(const Path& path, const Path& prefix) {
  return path.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), path.begin());
}

Path First(const Path& path, std::size_t count) {
  return {path.begin(), path.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(count, path.size()))};
}

Path Rest(const Path& path, std::size_t count) {
  return {
      path.begin() + static_cast<std::ptrdiff_t>(std::min(count, path.size())),
      path.end()};
}

Path Join(Path head, const Path& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

std::size_t CommonLength(const Path& a, const Path& b) {
  std::size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length]) {
    ++length;
  }
  return length;
}

bool HasIndex(const Path& path) {
  return std::any_of(path.begin(), path.end(), IsIndex);
}

void CutAtItem(std::size_t place, Path& path) {
  path.resize(place == 0 ? 0 : place - 1);
  while (!path.empty() && IsIndex(path.back())) path.pop_back();
}

}  // namespace onnx_tag::recipes
