// Small graphs as tokens and as recipes.
//
//   SmallModel model({"MatMul x w -> y", "Add y b -> z"}, {{"w", 2}, {"b",
//   1}});
#pragma once

#include <string>
#include <vector>

#include "book_maker/make_recipe.h"
#include "clues/recipes/tokens/tokens.h"
#include "support/model_lines.h"

namespace onnx_tag::recipes::test {

using onnx_tag::test::InABranch;
using onnx_tag::test::Tensors;

class SmallModel : public onnx_tag::test::ModelLines {
 public:
  using ModelLines::ModelLines;

  // The labels of its tokens, in order.
  std::string Labels() const {
    const GraphFacts facts(model());
    const TokenGraph graph(facts);
    std::string labels;
    for (const Token& token : graph.tokens()) {
      labels += (labels.empty() ? "" : " ") + token.label;
    }
    return labels;
  }

  // A recipe: `modules` has the path of each node's module.
  Recipe Record(const std::vector<std::string>& modules) const {
    std::vector<KnownModule> known;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      known.push_back({MakeId<NodeId>(i), modules[i], ""});
    }
    Recipe recipe = MakeRecipe(model(), known);
    recipe.family = "small";
    return recipe;
  }
};

}  // namespace onnx_tag::recipes::test
