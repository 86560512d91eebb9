// What the mapping makes of the recipe book's answers.
#include <gtest/gtest.h>

#include "onnx_tag/mapping.h"
#include "recipes/stack.h"

namespace onnx_tag {
namespace {

using recipes::test::BookOf;
using recipes::test::InABranch;
using recipes::test::ListBook;
using recipes::test::MakeStack;
using recipes::test::SmallModel;
using recipes::test::Stack;

// Convolutions, none of which has kept its name.
Stack Convolutions(bool quantized) {
  Stack stack;
  stack.tensors = {{"scale", 0}};
  std::string at = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string id = std::to_string(i);
    stack.tensors.emplace_back("onnx::Conv_" + id, 4);
    stack.Node("Conv " + at + " onnx::Conv_" + id + " -> c" + id,
               "stages." + id + ".conv");
    if (quantized) {
      stack.Node("QuantizeLinear c" + id + " scale -> q" + id, "?");
      stack.Node("DequantizeLinear q" + id + " scale -> d" + id, "?");
    }
    stack.Node("Relu " + std::string(quantized ? "d" : "c") + id + " -> r" + id,
               "stages." + id + ".act");
    at = "r" + id;
  }
  return stack;
}

TEST(RecipeAnswers, AConversionIsNoSurerThanItsTensor) {
  const ListBook book = BookOf(Convolutions(false));
  const Stack stack = Convolutions(true);
  const SmallModel model(stack.lines, stack.tensors);
  MappingFacts facts;
  facts.book = &book;
  const Tagging tagging = MapNodes(model.model(), {}, facts);
  const Tag& convolution = tagging.tags[MakeId<NodeId>(0)];
  const Tag& quantizer = tagging.tags[MakeId<NodeId>(1)];
  EXPECT_EQ(tagging.modules.Path(convolution.module), "stages.0.conv");
  EXPECT_EQ(convolution.confidence, Confidence::kLow);
  EXPECT_EQ(tagging.modules.Path(quantizer.module), "stages.0.conv");
  EXPECT_EQ(quantizer.confidence, Confidence::kLow);
}

TEST(RecipeAnswers, TheBodiesOfBranchesAreAsked) {
  const ListBook book = BookOf(MakeStack(2, true));
  const Stack stack = MakeStack(4, true);
  const std::string bytes =
      InABranch(SmallModel(stack.lines, stack.tensors).bytes());
  const Model model = ReadModel(bytes);
  MappingFacts facts;
  facts.book = &book;
  const Tagging tagging = MapNodes(model, {}, facts);
  const Graph& body = model[MakeId<GraphId>(1)];
  for (std::size_t i = 0; i < stack.lines.size(); ++i) {
    const Tag& tag = tagging.tags[body.nodes[i]];
    ASSERT_TRUE(tag.tagged()) << stack.lines[i];
    EXPECT_EQ(tagging.modules.Path(tag.module), stack.modules[i])
        << stack.lines[i];
  }
}

}  // namespace
}  // namespace onnx_tag
