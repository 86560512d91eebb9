// Known modules in unknown wholes, and graphs inside graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "clues/recipes/answer/match.h"
#include "clues/recipes/book/recipe.h"
#include "clues/recipes/stack.h"

namespace onnx_tag::recipes::test {
namespace {

// A head that no recipe has: 9 nodes.
void AddHead(Stack& stack, const std::string& from) {
  const std::string gate = stack.Linear(from, "judge.gate", true);
  stack.Node("Sigmoid " + gate + " -> g", "judge");
  stack.Node("Mul g " + from + " -> h", "judge");
  const std::string mid = stack.Linear("h", "judge.first", true);
  stack.Node("Softplus " + mid + " -> p", "judge");
  stack.Linear("p", "judge.last", true);
}

BookAnswer AskAbout(const Stack& stack, const Book& book) {
  const SmallModel model(stack.lines, stack.tensors);
  return AskBook(TokenGraph(GraphFacts(model.model())), book);
}

// By node, what the parts say.
std::vector<std::string> PathsOf(const Stack& stack, const BookAnswer& answer) {
  std::vector<std::string> paths(stack.lines.size(), "-");
  for (const BookAnswer& part : answer.parts) {
    for (const NodeAnswer& node : part.nodes) {
      EXPECT_EQ(paths[Index(node.node)], "-");
      paths[Index(node.node)] = node.path;
    }
  }
  return paths;
}

TEST(Parts, ABackboneDeepUnderAnUnknownHead) {
  Stack stack;
  stack.Node("Sin x -> y", "");
  const std::string last = AddTower(stack, "y", 5, "outer.middle.inner.");
  const std::size_t tower = stack.lines.size();
  AddHead(stack, last);
  const BookAnswer answer = AskAbout(stack, BookOf(MakeStack(2, true)));
  EXPECT_TRUE(answer.recipe.empty());
  ASSERT_EQ(answer.parts.size(), 1u);
  EXPECT_TRUE(answer.parts[0].recipe.starts_with("small"))
      << answer.parts[0].recipe;
  EXPECT_GT(answer.parts[0].fit, 0.9);
  const std::vector<std::string> paths = PathsOf(stack, answer);
  EXPECT_EQ(paths[0], "-");
  // All but the end, where the recipe goes on otherwise.
  for (std::size_t i = 1; i + 1 < tower; ++i) {
    EXPECT_EQ(paths[i], stack.modules[i]) << stack.lines[i];
  }
  for (std::size_t i = tower; i < paths.size(); ++i) {
    EXPECT_EQ(paths[i], "-") << stack.lines[i];
  }
}

TEST(Parts, TwoTowersOfOneRecipe) {
  Stack stack;
  const std::string left = AddTower(stack, "x", 3, "left.");
  const std::string right = AddTower(stack, "x", 4, "deep.0.right.");
  stack.Node("Concat " + left + " " + right + " -> c", "");
  AddHead(stack, "c");
  const BookAnswer answer = AskAbout(stack, BookOf(MakeStack(2, true)));
  ASSERT_EQ(answer.parts.size(), 2u);
  const std::vector<std::string> paths = PathsOf(stack, answer);
  for (std::size_t i = 0; i < stack.lines.size(); ++i) {
    if (!stack.lines[i].starts_with("Relu")) continue;
    EXPECT_EQ(paths[i], stack.modules[i]) << stack.lines[i];
  }
}

TEST(Parts, AModuleInsideARecipeIsNamedByItsPath) {
  Stack stack;
  const std::string last = AddTower(stack, "x", 3, "mine.own.");
  AddHead(stack, last);
  const BookAnswer answer = AskAbout(stack, BookOf(MakeStack(2, true, "a.b.")));
  ASSERT_EQ(answer.parts.size(), 1u);
  EXPECT_TRUE(answer.parts[0].recipe.starts_with("small.a.b "))
      << answer.parts[0].recipe;
}

TEST(Parts, NothingWhereTheNamesAreOthers) {
  Stack stack;
  const std::string last = AddTower(stack, "x", 3, "p.q.r.");
  AddHead(stack, last);
  const auto rename = [](std::string& text) {
    for (const auto& [from, to] :
         {std::pair("mlp", "ffn"), std::pair("norm", "ln"),
          std::pair("embed", "stem"), std::pair("layers", "cells")}) {
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from)) {
        text.replace(at, std::string_view(from).size(), to);
      }
    }
  };
  for (std::string& line : stack.lines) rename(line);
  for (auto& [name, rank] : stack.tensors) rename(name);
  const BookAnswer answer = AskAbout(stack, BookOf(MakeStack(2, true)));
  EXPECT_TRUE(answer.parts.empty());
}

TEST(Parts, AModuleTakenOutOfItsRecipeHasItsTokensOnly) {
  const Stack stack = MakeStack(2, true, "model.");
  const Recipe whole =
      SmallModel(stack.lines, stack.tensors).Record(stack.modules);
  const auto model = std::find_if(
      whole.modules.begin(), whole.modules.end(),
      [&](const auto& module) { return whole.texts[module.atom] == "model"; });
  ASSERT_NE(model, whole.modules.end());
  AtomTable atoms;
  Candidate part(whole, atoms, false,
                 static_cast<std::uint32_t>(model - whole.modules.begin()));
  EXPECT_EQ(part.family, "small.model");
  const Program& program = part.ProgramIn(Order::kFile);
  // All but the head.
  ASSERT_EQ(program.steps.size() + 1, whole.tokens.size());
  EXPECT_EQ(atoms.Text(*program.path[1]), "layers.0.mlp.up");
  EXPECT_EQ(part.sequence.outputs,
            (std::vector<std::uint32_t>{program.steps.back().token}));
}

TEST(Parts, QuantizedWithoutRelus) {
  const ListBook book = BookOf(MakeStack(2, true));
  Stack stack = MakeStack(3, true);
  stack.tensors.emplace_back("scale", 0);
  for (std::string& line : stack.lines) {
    const std::size_t at = line.find("Relu");
    if (at != std::string::npos) line.replace(at, 4, "QuantizeLinear");
    const std::size_t to = line.find(" ->");
    if (at != std::string::npos) line.insert(to, " scale");
  }
  const BookAnswer answer = AskAbout(stack, book);
  EXPECT_GT(answer.fit, 0.95);
}

TEST(Parts, TheBodyOfABranchIsMatchedLikeAGraph) {
  const ListBook book = BookOf(MakeStack(2, true));
  const Stack stack = MakeStack(4, true);
  const std::string bytes =
      InABranch(SmallModel(stack.lines, stack.tensors).bytes());
  const Model model = ReadModel(bytes);
  const GraphId body = MakeId<GraphId>(1);
  const BookAnswer answer = AskBook(TokenGraph(GraphFacts(model), body), book);
  ASSERT_EQ(answer.nodes.size(), stack.lines.size());
  for (std::size_t i = 0; i < answer.nodes.size(); ++i) {
    EXPECT_EQ(answer.nodes[i].node, model[body].nodes[i]);
    EXPECT_EQ(answer.nodes[i].path, stack.modules[i]);
  }
}

}  // namespace
}  // namespace onnx_tag::recipes::test
