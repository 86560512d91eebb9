#include "clues/recipes/book/recipe.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/interner.h"
#include "clues/recipes/book/label_weight.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::recipes {
namespace {

std::uint32_t Hash(std::string_view text) {
  return static_cast<std::uint32_t>(HashBytes(text) >> 32);
}

void MakeSet(std::vector<std::uint32_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
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

}  // namespace

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
    if (LabelWeight(label) != Weight::kLight) push(label);
  }
  push("$");
  for (const std::string_view path : paths) {
    if (!path.empty()) summary.names.push_back(Hash(LastAtoms(path)));
  }
  MakeSet(summary.grams);
  MakeSet(summary.names);
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

namespace {

using Numbers = std::vector<std::uint32_t>;  // by old number: the new, or kNone

class Cutter {
 public:
  Cutter(const Recipe& recipe, std::uint32_t module)
      : from_(recipe), root_(module) {}

  Recipe Run() {
    made_.family = from_.family + "." + PathOf(from_, root_);
    made_.exporter = from_.exporter;
    made_.version = from_.version;
    made_.texts = from_.texts;
    TakeModules();
    sides_.assign(from_.side_nodes.size(), kNone);
    TakeTokens();
    FindOutputs();
    return std::move(made_);
  }

 private:
  static std::uint32_t At(const Numbers& numbers, std::uint32_t old) {
    return old == kNone ? kNone : numbers[old];
  }

  void TakeModules() {
    modules_.assign(from_.modules.size(), kNone);
    for (std::uint32_t i = root_; i < from_.modules.size(); ++i) {
      RecordedModule module = from_.modules[i];
      module.parent = i == root_ ? kNone : At(modules_, module.parent);
      if (i != root_ && module.parent == kNone) continue;
      if (i == root_) module.atom = 0;
      modules_[i] = static_cast<std::uint32_t>(made_.modules.size());
      made_.modules.push_back(module);
    }
  }

  void TakeTokens() {
    tokens_.assign(from_.tokens.size(), kNone);
    for (std::uint32_t i = 0; i < from_.tokens.size(); ++i) {
      if (At(modules_, from_.tokens[i].module) == kNone) continue;
      RecordedToken token = from_.tokens[i];
      token.module = modules_[token.module];
      token.anchor = At(modules_, token.anchor);
      std::size_t kept = 0;
      for (const std::uint32_t input : token.inputs) {
        if (tokens_[input] != kNone) token.inputs[kept++] = tokens_[input];
      }
      token.inputs.resize(kept);
      for (SideReference& side : token.sides) side.side = TakeSide(side.side);
      tokens_[i] = static_cast<std::uint32_t>(made_.tokens.size());
      made_.tokens.push_back(std::move(token));
    }
  }

  // Also takes its inputs, which precede it.
  std::uint32_t TakeSide(std::uint32_t first) {
    std::vector<std::uint32_t> open = {first};
    while (!open.empty()) {
      const std::uint32_t side = open.back();
      const std::size_t before = open.size();
      if (sides_[side] == kNone) {
        for (const std::uint32_t input : from_.side_nodes[side].inputs) {
          if (input != kNone && sides_[input] == kNone) open.push_back(input);
        }
      }
      if (open.size() > before) continue;
      open.pop_back();
      if (sides_[side] != kNone) continue;
      SideNode node = from_.side_nodes[side];
      node.module = At(modules_, node.module);
      for (std::uint32_t& input : node.inputs) input = At(sides_, input);
      sides_[side] = static_cast<std::uint32_t>(made_.side_nodes.size());
      made_.side_nodes.push_back(std::move(node));
    }
    return sides_[first];
  }

  // Finds the tokens that are read from outside.
  void FindOutputs() {
    std::vector<bool> is_output(made_.tokens.size(), false);
    const auto mark = [&](std::uint32_t token) {
      if (tokens_[token] != kNone) is_output[tokens_[token]] = true;
    };
    for (std::uint32_t i = 0; i < from_.tokens.size(); ++i) {
      if (tokens_[i] != kNone) continue;
      for (const std::uint32_t input : from_.tokens[i].inputs) mark(input);
    }
    for (const std::uint32_t token : from_.outputs) mark(token);
    for (std::uint32_t i = 0; i < is_output.size(); ++i) {
      if (is_output[i]) made_.outputs.push_back(i);
    }
  }

  const Recipe& from_;
  const std::uint32_t root_;
  Recipe made_;
  Numbers modules_;
  Numbers tokens_;
  Numbers sides_;
};

}  // namespace

Recipe CutOut(const Recipe& recipe, std::uint32_t module) {
  if (module == 0) return recipe;
  return Cutter(recipe, module).Run();
}

}  // namespace onnx_tag::recipes
