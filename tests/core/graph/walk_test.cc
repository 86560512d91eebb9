#include "core/graph/walk.h"

#include <gtest/gtest.h>

#include "support/model_lines.h"

namespace onnx_tag {
namespace {

using test::ModelLines;

template <typename Range>
std::string Text(const Range& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += std::to_string(Index(node));
  return text;
}

TEST(WalkTest, NeighboursComeInTheOrderOfOutputsAndInputs) {
  const ModelLines lines({"Split x -> a b", "Relu b -> c", "Add a a -> d",
                          "Sub c d -> e", "Neg x -> y"},
                         {});
  const Model& model = lines.model();
  EXPECT_EQ(Text(Readers(model, NodeId{0})), "221");
  EXPECT_EQ(Text(Readers(model, NodeId{3})), "");
  EXPECT_EQ(Text(Makers(model, NodeId{3})), "12");
  EXPECT_EQ(Text(Makers(model, NodeId{4})), "");
}

TEST(WalkTest, TheOnlyReaderIsTheOnlyOneThatCounts) {
  const ModelLines lines({"Relu x -> a", "Shape a -> s", "Mul a a -> y"}, {});
  const Model& model = lines.model();
  const ValueId value = model.Outputs(NodeId{0})[0];
  EXPECT_EQ(OnlyReader(model, value, [](NodeId) { return true; }), kNo<NodeId>);
  EXPECT_EQ(OnlyReader(model, value,
                       [](NodeId reader) { return reader != NodeId{1}; }),
            NodeId{2});
}

// The bound holds where the walk branches: a value with many readers costs no
// more than the limit.
TEST(WalkTest, TheLimitHoldsAmongTheReadersOfOneNode) {
  std::vector<std::string> text = {"Relu x -> a"};
  for (int i = 0; i < 50; ++i) {
    text.push_back("Exp a -> b" + std::to_string(i));
  }
  const ModelLines lines(text, {});
  const auto next = [&](NodeId node, const auto& go) {
    for (const NodeId reader : Readers(lines.model(), node)) {
      if (!go(reader)) return;
    }
  };
  int visits = 0;
  const auto visit = [&](NodeId) { return ++visits > 0; };
  EXPECT_FALSE(Walk(NodeId{0}, 10, next, visit));
  EXPECT_EQ(visits, 10);
  visits = 0;
  EXPECT_TRUE(Walk(NodeId{0}, 50, next, visit));
  EXPECT_EQ(visits, 50);
}

}  // namespace
}  // namespace onnx_tag
