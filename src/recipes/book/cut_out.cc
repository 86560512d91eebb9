#include "recipes/book/cut_out.h"

#include "recipes/book/summary.h"

namespace onnx_tag::recipes {
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
