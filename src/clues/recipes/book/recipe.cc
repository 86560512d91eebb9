#include "clues/recipes/book/recipe.h"

#include <array>
#include <unordered_map>

#include "base/lists.h"
#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "generated/labels.h"
#include "onnx_tag/interner.h"

namespace onnx_tag::recipes {
namespace {

std::uint32_t Hash(std::string_view text) {
  return static_cast<std::uint32_t>(HashBytes(text) >> 32);
}

// The last two atoms, a list's index as "*".
std::string LastAtoms(std::string_view path) {
  const std::string_view last = hierarchy::LastPart(path, '.');
  const std::string_view before =
      hierarchy::LastPart(hierarchy::BeforeLastPart(path, '.'), '.');
  const auto word = [](std::string_view atom) {
    return hierarchy::IsNumeric(atom) ? std::string_view("*") : atom;
  };
  return std::string(word(before)) + "." + std::string(word(last));
}

struct Labels {
  std::unordered_map<std::string_view, LabelFacts> facts;
  std::unordered_map<std::string_view, std::string_view> of;  // by name

  Labels() {
    std::unordered_map<std::string_view, std::uint32_t> classes;  // their bits
    for (const std::string_view line : Split(kLabels, '\n')) {
      const std::vector<std::string_view> words = Split(line, ' ');
      LabelFacts& row = facts[words[0]];
      row.weight = words[1] == "heavy"   ? Weight::kHeavy
                   : words[1] == "light" ? Weight::kLight
                                         : Weight::kMiddle;
      for (std::string_view word : std::span(words).subspan(2)) {
        row.solid |= word == "solid";
        row.leaf |= word == "leaf";
        if (hierarchy::ConsumePrefix(word, "of=")) of.emplace(word, words[0]);
        if (hierarchy::ConsumePrefix(word, "=")) {
          row.soft |=
              classes.try_emplace(word, 1u << classes.size()).first->second;
        }
      }
    }
  }
};

const Labels& AllLabels() {
  static const Labels labels;
  return labels;
}

}  // namespace

const LabelFacts& FactsOf(std::string_view label) {
  static const LabelFacts kMiddle;
  const auto at = AllLabels().facts.find(label);
  return at == AllLabels().facts.end() ? kMiddle : at->second;
}

std::string_view LabelOf(std::string_view name) {
  const auto at = AllLabels().of.find(name);
  return at == AllLabels().of.end() ? std::string_view() : at->second;
}

std::string PathOf(const Recipe& recipe, std::uint32_t module) {
  if (module == 0 || module == kNone) return "";
  const RecordedModule& recorded = recipe.modules[module];
  std::string path = PathOf(recipe, recorded.parent);
  if (!path.empty()) path += '.';
  return path + recipe.texts[recorded.atom];
}

Summary Summarize(std::span<const std::string_view> labels,
                  std::span<const std::string_view> paths) {
  Summary summary;
  std::array<std::string_view, 3> last = {"^", "^", "^"};
  const auto push = [&](std::string_view label) {
    last = {last[1], last[2], label};
    summary.grams.push_back(Hash(std::string(last[0]) + " " +
                                 std::string(last[1]) + " " +
                                 std::string(last[2])));
  };
  for (const std::string_view label : labels) {
    if (FactsOf(label).weight != Weight::kLight) push(label);
  }
  push("$");
  for (const std::string_view path : paths) {
    if (!path.empty()) summary.names.push_back(Hash(LastAtoms(path)));
  }
  SortUnique(summary.grams);
  SortUnique(summary.names);
  return summary;
}

Summary Summarize(const Recipe& recipe) {
  std::vector<std::string_view> labels;
  std::vector<bool> used(recipe.modules.size(), false);
  for (const RecordedToken& token : recipe.tokens) {
    labels.push_back(recipe.texts[token.label]);
    if (token.module != kNone) used[token.module] = true;
    if (token.anchor != kNone) used[token.anchor] = true;
  }
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    if (used[i]) paths.push_back(PathOf(recipe, i));
  }
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  return Summarize(labels, views);
}

}  // namespace onnx_tag::recipes
