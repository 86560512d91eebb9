#include "clues/recipes/answer/file_names.h"

#include <algorithm>
#include <string_view>

namespace onnx_tag::recipes {

bool HasFewNames(const File& file) {
  constexpr std::size_t kFew = 4;
  PathSet generic;
  for (const Path& path : file.anchors) {
    if (path.empty()) continue;
    generic.insert(Generic(path));
    if (generic.size() == kFew) return false;
  }
  return true;
}

bool IsConvolutional(const File& file) {
  std::size_t solid = 0;
  std::size_t convolutions = 0;
  for (const Step& step : file.steps[0]) {
    solid += step.solid;
    convolutions += step.convolution || step.batch_norm;
  }
  return 2 * convolutions > solid;
}

double NamedShare(const File& file) {
  std::size_t solid = 0;
  std::size_t named = 0;
  for (const Step& step : file.steps[0]) {
    solid += step.solid;
    named += step.solid && !file.anchors[step.token].empty();
  }
  return static_cast<double>(named) /
         static_cast<double>(std::max<std::size_t>(1, solid));
}

std::size_t CountAnchors(const File& file) {
  return static_cast<std::size_t>(
      std::count_if(file.anchors.begin(), file.anchors.end(),
                    [](const Path& path) { return !path.empty(); }));
}

// Tested by tests/clues/recipes/absent_test.cc.

namespace {

bool IsNorm(std::string_view label) { return label == "LN" || label == "RMS"; }

bool NamesItsNorms(const File& file) {
  const std::vector<Token>& tokens = file.graph.tokens();
  return std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return IsNorm(token.label) && !token.anchor.empty();
  });
}

}  // namespace

AbsentModules::AbsentModules(const File& file, const Candidate& candidate)
    : known_(file.known) {
  if (!NamesItsNorms(file)) return;
  const Recipe& recipe = candidate.recipe;
  for (const RecordedToken& token : recipe.tokens) {
    if (token.anchor == kNone || !IsNorm(recipe.texts[token.label])) continue;
    const auto path = ToFile(candidate, *candidate.paths.of(token.anchor));
    if (!path) continue;
    for (std::size_t size = path->size(); size-- > 0;) {
      if (!normed_.insert(First(*path, size)).second) break;
    }
  }
}

bool AbsentModules::Contains(const Path& path) const {
  for (std::size_t size = path.size(); size > 0; --size) {
    const Path part = First(path, size);
    if (known_.contains(part)) return false;
    if (normed_.contains(part)) return true;
  }
  return false;
}

}  // namespace onnx_tag::recipes
