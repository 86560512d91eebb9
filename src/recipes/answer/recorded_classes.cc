#include "recipes/answer/recorded_classes.h"

#include <algorithm>

namespace onnx_tag::recipes {

void RecordedClasses::Add(const Candidate& candidate) {
  Known& known = known_.emplace_back();
  const Recipe& recipe = candidate.recipe;
  for (std::uint32_t i = 0; i < recipe.modules.size(); ++i) {
    const std::string_view name = recipe.texts[recipe.modules[i].class_name];
    if (name.empty()) continue;
    const auto path = ToFile(candidate, *candidate.paths.of(i));
    if (!path) continue;
    known.exact.try_emplace(*path, name);
    const auto [at, added] = known.generic.try_emplace(Generic(*path), name);
    if (!added && at->second != name) at->second = {};
  }
}

std::vector<std::string_view> RecordedClasses::Of(const Path& path) const {
  std::vector<std::string_view> names;
  for (const Known& known : known_) {
    std::string_view name;
    if (const auto at = known.generic.find(Generic(path));
        at != known.generic.end()) {
      name = at->second;
    }
    if (name.empty()) {
      const auto at = known.exact.find(path);
      if (at != known.exact.end()) name = at->second;
    }
    if (!name.empty() &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace onnx_tag::recipes
