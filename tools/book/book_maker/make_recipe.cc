#include "book_maker/make_recipe.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "clues/recipes/tokens/tokens.h"

namespace onnx_tag::recipes {
namespace {

class RecipeMaker {
 public:
  RecipeMaker(const Model& model, const std::vector<KnownModule>& truth)
      : facts_(model),
        graph_(facts_),
        model_(model),
        module_of_(model.node_count(), kNone),
        side_of_(model.node_count(), kNone) {
    Text("");
    recipe_.modules.push_back({});
    for (const KnownModule& known : truth) {
      module_of_[known.node] = Module(known.path, known.classes);
    }
  }

  Recipe Run() {
    for (const NodeId node : graph_.flow().Order()) {
      if (!graph_.flow().IsData(node)) AddSide(node);
    }
    for (const Token& token : graph_.tokens()) AddToken(token);
    recipe_.outputs = graph_.Outputs();
    DropUnusedSides();
    return std::move(recipe_);
  }

 private:
  std::uint32_t Text(std::string_view text) {
    const auto [at, is_new] = texts_.try_emplace(
        std::string(text), static_cast<std::uint32_t>(recipe_.texts.size()));
    if (is_new) recipe_.texts.emplace_back(text);
    return at->second;
  }

  std::uint32_t Module(std::string_view path, std::string_view classes) {
    const auto names = Split(classes, '/');
    std::uint32_t at = 0;
    SetClass(at, names[0]);
    if (path.empty()) return at;
    const auto atoms = Split(path, '.');
    // One class for the root and one for each atom, or they are of no use.
    const bool known = names.size() == atoms.size() + 1;
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      const std::uint32_t atom = Text(atoms[i]);
      const auto [child, is_new] = children_.try_emplace(
          std::pair(at, atom),
          static_cast<std::uint32_t>(recipe_.modules.size()));
      if (is_new) recipe_.modules.push_back({at, atom, 0});
      at = child->second;
      if (known) SetClass(at, names[i + 1]);
    }
    return at;
  }

  void SetClass(std::uint32_t module, std::string_view name) {
    if (!name.empty()) recipe_.modules[module].class_name = Text(name);
  }

  void AddSide(NodeId node) {
    SideNode side{Text(model_.OpType(node)), module_of_[node], {}};
    for (const ValueId input : model_.Inputs(node)) {
      side.inputs.push_back(SideOf(input));
    }
    side_of_[node] = static_cast<std::uint32_t>(recipe_.side_nodes.size());
    recipe_.side_nodes.push_back(std::move(side));
  }

  std::uint32_t SideOf(ValueId value) const {
    const NodeId node = graph_.flow().Producer(value);
    return node == kNo<NodeId> ? kNone : side_of_[node];
  }

  void AddToken(const Token& token) {
    RecordedToken recorded;
    recorded.label = Text(token.label);
    recorded.extra = Text(token.extra);
    recorded.module = ModuleOf(token);
    if (!token.anchor.empty()) recorded.anchor = Module(token.anchor, "");
    recorded.main = token.main;
    recorded.inputs = token.inputs;
    for (std::size_t i = 0; i < token.nodes.size(); ++i) {
      recorded.ops.push_back(Text(model_.OpType(token.nodes[i])));
      const auto inputs = model_.Inputs(token.nodes[i]);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        const std::uint32_t side = SideOf(inputs[slot]);
        if (side == kNone) continue;
        recorded.sides.push_back({static_cast<std::uint32_t>(i),
                                  static_cast<std::uint32_t>(slot), side});
      }
    }
    recipe_.tokens.push_back(std::move(recorded));
  }

  // That of most of its nodes, of several the first.
  std::uint32_t ModuleOf(const Token& token) const {
    std::uint32_t best = kNone;
    std::ptrdiff_t most = 0;
    for (const NodeId node : token.nodes) {
      const std::uint32_t module = module_of_[node];
      if (module == kNone) continue;
      const std::ptrdiff_t count =
          std::count_if(token.nodes.begin(), token.nodes.end(),
                        [&](NodeId n) { return module_of_[n] == module; });
      if (count > most) {
        most = count;
        best = module;
      }
    }
    return best;
  }

  // What no token leads to (outputs that are constants) is never walked.
  void DropUnusedSides() {
    std::vector<SideNode>& sides = recipe_.side_nodes;
    std::vector<bool> used(sides.size(), false);
    for (const RecordedToken& token : recipe_.tokens) {
      for (const SideReference& reference : token.sides) {
        used[reference.side] = true;
      }
    }
    for (std::size_t i = sides.size(); i-- > 0;) {
      if (!used[i]) continue;
      for (const std::uint32_t input : sides[i].inputs) {
        if (input != kNone) used[input] = true;
      }
    }
    std::vector<std::uint32_t> kept(sides.size(), kNone);
    std::vector<SideNode> rest;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (!used[i]) continue;
      for (std::uint32_t& input : sides[i].inputs) {
        if (input != kNone) input = kept[input];
      }
      kept[i] = static_cast<std::uint32_t>(rest.size());
      rest.push_back(std::move(sides[i]));
    }
    sides = std::move(rest);
    for (RecordedToken& token : recipe_.tokens) {
      for (SideReference& reference : token.sides) {
        reference.side = kept[reference.side];
      }
    }
  }

  const GraphFacts facts_;
  TokenGraph graph_;
  const Model& model_;
  Recipe recipe_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
  IdVector<NodeId, std::uint32_t> module_of_;
  IdVector<NodeId, std::uint32_t> side_of_;
};

}  // namespace

Recipe MakeRecipe(const Model& model, const std::vector<KnownModule>& truth) {
  return RecipeMaker(model, truth).Run();
}

}  // namespace onnx_tag::recipes
