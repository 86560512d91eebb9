// The book's answers: how depth is counted, and when nothing is said.
#include <gtest/gtest.h>

#include "clues/recipes/align/candidates.h"
#include "clues/recipes/answer/ask_book.h"
#include "clues/recipes/stack.h"

namespace onnx_tag::recipes::test {
namespace {

TEST(Match, TheRecipeItself) {
  const Stack stack = MakeStack(2, true);
  EXPECT_EQ(Ask(stack, BookOf(stack)), stack.modules);
}

TEST(Match, AnotherDepth) {
  const ListBook book = BookOf(MakeStack(2, true));
  const Stack deep = MakeStack(7, true);
  EXPECT_EQ(Ask(deep, book), deep.modules);
  const Stack flat = MakeStack(1, true);
  EXPECT_EQ(Ask(flat, book), flat.modules);
}

TEST(Match, LinearLayersWithoutNames) {
  const ListBook book = BookOf(MakeStack(2, false));
  const Stack deep = MakeStack(5, false);
  EXPECT_EQ(Ask(deep, book), deep.modules);
}

TEST(Match, IndicesOfParametersBeatCounting) {
  // Layers 0 to 2 of 8 were cut away.
  const ListBook book = BookOf(MakeStack(2, true));
  Stack stack = MakeStack(4, true);
  const auto shift = [](std::string& text) {
    for (int i = 3; i >= 0; --i) {
      const std::string from = "layers." + std::to_string(i) + ".";
      const std::string to = "layers." + std::to_string(i + 3) + ".";
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    }
  };
  for (std::string& line : stack.lines) shift(line);
  for (auto& [name, rank] : stack.tensors) shift(name);
  const std::vector<std::string> paths = Ask(stack, book);
  EXPECT_EQ(paths[2], "layers.3.mlp.up");
  EXPECT_EQ(paths[4], "layers.3.mlp.act");
}

TEST(Match, AnotherPrefix) {
  const Stack inner = MakeStack(3, true, "model.");
  EXPECT_EQ(Ask(inner, BookOf(MakeStack(2, true)))[4],
            "model.layers.0.mlp.act");
}

TEST(Match, NothingWhereNothingFits) {
  const SmallModel other(
      {"Sin x -> a", "Cos a -> b", "Mul a b -> c", "Exp c -> d", "Log d -> z"},
      {});
  const ListBook book = BookOf(MakeStack(2, true));
  EXPECT_TRUE(
      AskBook(TokenGraph(GraphFacts(other.model())), book).nodes.empty());
}

TEST(Candidates, AreOfManyFamilies) {
  const Stack stack = MakeStack(2, true);
  const SmallModel model(stack.lines, stack.tensors);
  ListBook book;
  for (int i = 0; i < 12; ++i) {
    Recipe recipe = model.Record(stack.modules);
    recipe.family = i < 10 ? "many" : "few";
    book.Add(std::move(recipe));
  }
  AtomTable atoms;
  const GraphFacts facts(model.model());
  const TokenGraph graph(facts);
  const std::vector<Path> anchors(graph.tokens().size());
  const Candidates ranked = RankByNames(graph, anchors, book, atoms);
  ASSERT_EQ(ranked.size(), 12u);
  EXPECT_EQ(ranked[2]->recipe.family, "many");
  EXPECT_EQ(ranked[3]->recipe.family, "few");
  EXPECT_EQ(ranked[4]->recipe.family, "few");
  EXPECT_EQ(ranked[5]->recipe.family, "many");
}

TEST(Match, NothingFromAnEmptyBook) {
  const Stack stack = MakeStack(2, true);
  EXPECT_EQ(Ask(stack, ListBook()),
            std::vector<std::string>(stack.lines.size(), "-"));
}

}  // namespace
}  // namespace onnx_tag::recipes::test
