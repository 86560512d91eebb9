// What the mapping makes of the recipe book's answers.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clues/recipes/book/packed_book.h"
#include "clues/recipes/stack.h"
#include "core/graph/constant_weights.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag_schema.pb.h"
#include "support/temporary_folder.h"

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

// A file of PaddlePaddle without names. Returns how many of its nodes have the
// module that they have in the recording.
std::size_t CountNamed(const Stack& file, bool is_port, const Stack& recorded) {
  schema::ModelProto proto;
  proto.ParseFromString(SmallModel(file.lines, file.tensors).bytes());
  proto.set_producer_name("PaddlePaddle");
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  recipes::Recipe recipe =
      SmallModel(recorded.lines, recorded.tensors).Record(recorded.modules);
  recipe.paddle_names = is_port;
  ListBook book;
  book.Add(std::move(recipe));
  MappingFacts facts;
  facts.book = &book;
  const Tagging tagging = MapNodes(model, {}, facts);
  std::size_t count = 0;
  for (const NodeId node : model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    count += tag.source == Source::kOperation &&
             tagging.modules.Path(tag.module) == file.modules[Index(node)];
  }
  return count;
}

TEST(RecipeAnswers, AFileOfPaddleIsComparedWithPortsOfPaddleOnly) {
  const Stack stack = Convolutions(false);
  EXPECT_EQ(CountNamed(stack, true, stack), stack.lines.size());
  EXPECT_EQ(CountNamed(stack, false, stack), 0U);
}

TEST(RecipeAnswers, AFileOfPaddleHasNoMoreLayersThanItsPort) {
  const Stack two = MakeStack(2, false);
  EXPECT_GT(CountNamed(two, true, two), two.lines.size() / 2);
  EXPECT_EQ(CountNamed(MakeStack(4, false), true, two), 0U);
}

// The classifier of PP-OCR as Paddle2ONNX wrote it, without weights: no name
// says anything. The modules are public; shapes of weights confirm them.
TEST(RecipeAnswers, AClassifierOfPaddleHasItsModulesByTheBook) {
  const std::string bytes =
      test::ReadFile(std::filesystem::path(ONNX_TAG_TEST_FOLDER) / "models" /
                     "paddle_classifier.onnx");
  const Model model = ReadModel(bytes);
  MappingFacts facts;
  facts.book = &recipes::BuiltInBook();
  const Tagging tagging = MapNodes(model, {}, facts);
  std::map<std::string, std::vector<std::int64_t>> widths;  // by convolution
  std::set<std::string> blocks;
  std::map<ValueId, std::vector<std::int64_t>> weights;
  for (const ConstantWeight& weight : FindConstantWeights(model)) {
    weights[weight.value] = weight.dims;
  }
  for (const NodeId node : model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    ASSERT_TRUE(tag.tagged());
    EXPECT_EQ(tag.source, Source::kOperation);
    EXPECT_EQ(tag.confidence, Confidence::kLow);
    const std::string path(tagging.modules.Path(tag.module));
    if (path.starts_with("backbone.blocks.")) {
      blocks.insert(path.substr(0, path.find('.', 16)));
    }
    if (model.OpType(node) != "Conv") continue;
    EXPECT_TRUE(widths.try_emplace(path, weights[model.Inputs(node)[1]]).second)
        << path << " has two convolutions";
  }
  EXPECT_EQ(widths.size(), 53U);
  EXPECT_EQ(blocks.size(), 11U);  // MobileNetV3-small
  using Dims = std::vector<std::int64_t>;
  EXPECT_EQ(widths["backbone.conv1.conv"], (Dims{8, 3, 3, 3}));
  EXPECT_EQ(widths["backbone.blocks.0.bottleneck_conv.conv"],
            (Dims{8, 1, 3, 3}));
  EXPECT_EQ(widths["backbone.blocks.10.mid_se.conv1"], (Dims{50, 200, 1, 1}));
  EXPECT_EQ(widths["backbone.conv2.conv"], (Dims{200, 32, 1, 1}));
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
