// Tested by tests/recipes/absent_test.cc.
#include "recipes/answer/absent.h"

#include <algorithm>
#include <string_view>

namespace onnx_tag::recipes {
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
