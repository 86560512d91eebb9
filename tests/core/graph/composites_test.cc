#include "core/graph/composites.h"

#include <gtest/gtest.h>

#include "core/graph/graph_facts.h"
#include "support/model_lines.h"

namespace onnx_tag {
namespace {

using test::ModelLines;
using test::Tensors;

constexpr std::string_view kNames[] = {
    "linear", "convolution", "layer norm", "RMS norm",   "group norm",
    "GELU",   "quick GELU",  "SiLU",       "hard swish", "Mish"};

// "GELU 4: 01234" for each composite: the kind, the main node, all nodes in
// file order.
std::string Found(const std::vector<std::string>& lines,
                  const Tensors& tensors) {
  const ModelLines model(lines, tensors);
  const GraphFacts facts(model.model());
  std::string text;
  for (const Composites::Composite& composite : facts.composites()) {
    if (!text.empty()) text += ", ";
    text += kNames[static_cast<std::size_t>(composite.kind)];
    text += " " + std::to_string(Index(composite.main)) + ":";
    const auto nodes = facts.composites().Nodes(composite);
    std::vector<NodeId> sorted(nodes.begin(), nodes.end());
    std::sort(sorted.begin(), sorted.end());
    for (const NodeId node : sorted) {
      text += " " + std::to_string(Index(node));
    }
  }
  return text;
}

const Tensors kScalars = {{"a", 0}, {"b", 0}, {"c", 0}};

TEST(CompositesTest, GeluByErf) {
  const std::string gelu = "GELU 1: 0 1 2 3 4";
  EXPECT_EQ(Found({"Div x a -> s", "Erf s -> e", "Add e b -> p", "Mul x p -> t",
                   "Mul t c -> y"},
                  kScalars),
            gelu);
  EXPECT_EQ(Found({"Div x a -> s", "Erf s -> e", "Add e b -> p", "Mul x c -> h",
                   "Mul h p -> y"},
                  kScalars),
            gelu);
  EXPECT_EQ(Found({"Mul x a -> s", "Erf s -> e", "Add b e -> p", "Mul c p -> h",
                   "Mul x h -> y"},
                  kScalars),
            gelu);
}

TEST(CompositesTest, GeluByTanh) {
  EXPECT_EQ(
      Found({"Pow x a -> q", "Mul b q -> k", "Add x k -> u", "Mul u c -> s",
             "Tanh s -> e", "Add e b -> p", "Mul x c -> h", "Mul h p -> y"},
            kScalars),
      "GELU 4: 0 1 2 3 4 5 6 7");
  // x^2 is used elsewhere, too.
  EXPECT_EQ(
      Found({"Mul x x -> q", "Mul q x -> k", "Mul k b -> l", "Add x l -> u",
             "Mul u c -> s", "Tanh s -> e", "Add e b -> p", "Mul x p -> t",
             "Mul t c -> z", "Add z q -> y"},
            kScalars),
      "GELU 5: 1 2 3 4 5 6 7 8");
}

TEST(CompositesTest, AGateOfAnotherValueIsNoActivation) {
  EXPECT_EQ(Found({"Relu x -> o", "Div x a -> s", "Erf s -> e", "Add e b -> p",
                   "Mul o p -> t", "Mul t c -> y"},
                  kScalars),
            "");
  EXPECT_EQ(Found({"Relu x -> o", "Sigmoid x -> s", "Mul o s -> y"}, {}), "");
  // x (1 + tanh x)
  EXPECT_EQ(Found({"Tanh x -> e", "Add e b -> p", "Mul x p -> y"}, kScalars),
            "");
}

TEST(CompositesTest, GatesOfX) {
  EXPECT_EQ(Found({"Sigmoid x -> s", "Mul x s -> y"}, {}), "SiLU 0: 0 1");
  EXPECT_EQ(Found({"Mul x a -> k", "Sigmoid k -> s", "Mul x s -> y"}, kScalars),
            "quick GELU 1: 0 1 2");
  EXPECT_EQ(Found({"HardSigmoid x -> s", "Mul s x -> y"}, {}),
            "hard swish 0: 0 1");
  EXPECT_EQ(Found({"Softplus x -> s", "Tanh s -> t", "Mul x t -> y"}, {}),
            "Mish 0: 0 1 2");
  EXPECT_EQ(
      Found({"Add x a -> s", "Clip s b c -> l", "Mul x l -> p", "Div p c -> y"},
            kScalars),
      "hard swish 1: 0 1 2 3");
  EXPECT_EQ(
      Found({"Add x a -> s", "Clip s b c -> l", "Div l c -> p", "Mul p x -> y"},
            kScalars),
      "hard swish 1: 0 1 2 3");
}

TEST(CompositesTest, ASigmoidThatOthersReadIsNoSilu) {
  EXPECT_EQ(Found({"Sigmoid x -> s", "Mul x s -> p", "Add p s -> y"}, {}), "");
}

const Tensors kNorm = {{"two", 0}, {"eps", 0}, {"w", 1}, {"b", 1}, {"axes", 1}};

TEST(CompositesTest, NormsWrittenAsArithmetic) {
  EXPECT_EQ(Found({"ReduceMean x axes -> m", "Sub x m -> d", "Pow d two -> q",
                   "ReduceMean q axes -> v", "Add v eps -> e", "Sqrt e -> r",
                   "Div d r -> n", "Mul n w -> s", "Add s b -> y"},
                  kNorm),
            "layer norm 7: 0 1 2 3 4 5 6 7 8");
  EXPECT_EQ(Found({"Pow x two -> q", "ReduceMean q axes -> v", "Add v eps -> e",
                   "Sqrt e -> r", "Reciprocal r -> i", "Mul x i -> n",
                   "Mul w n -> y"},
                  kNorm),
            "RMS norm 6: 0 1 2 3 4 5 6");
  EXPECT_EQ(Found({"Reshape x axes -> g", "InstanceNormalization g b b -> n",
                   "Reshape n axes -> h", "Mul h w -> s", "Add s b -> y"},
                  kNorm),
            "group norm 3: 0 1 2 3 4");
}

const Tensors kWeights = {{"w", 2}, {"b", 1}, {"to", 1}, {"ws", 0}};

TEST(CompositesTest, AProductTakesItsBias) {
  EXPECT_EQ(Found({"MatMul x w -> p", "Add b p -> y"}, kWeights),
            "linear 0: 0 1");
  // A matrix is no bias.
  EXPECT_EQ(Found({"MatMul x w -> p", "Add w p -> y"}, kWeights), "");
  EXPECT_EQ(Found({"Reshape x to -> r", "Gemm r w b -> p", "Reshape p to -> y"},
                  kWeights),
            "linear 1: 0 1 2");
}

TEST(CompositesTest, ADynamicallyQuantizedProduct) {
  const std::vector<std::string> lines = {"DynamicQuantizeLinear x -> q s z",
                                          "MatMulInteger q w z ws -> p",
                                          "Cast p -> f",
                                          "Mul s ws -> k",
                                          "Mul f k -> r",
                                          "Add b r -> y"};
  EXPECT_EQ(Found(lines, kWeights), "linear 1: 1 2 3 4 5");
  const ModelLines model(lines, kWeights);
  const GraphFacts facts(model.model());
  const QuantizedProduct parts = FindQuantizedProduct(facts.links, NodeId{1});
  EXPECT_EQ(parts.quantizer, NodeId{0});
  EXPECT_EQ(parts.cast, NodeId{2});
  EXPECT_EQ(parts.scales, NodeId{3});
  EXPECT_EQ(parts.scaled, NodeId{4});
  EXPECT_EQ(parts.bias, NodeId{5});
}

TEST(CompositesTest, QuantizersBetweenThePartsAreSkipped) {
  EXPECT_EQ(Found({"Sigmoid x -> s", "QuantizeLinear s ws -> q",
                   "DequantizeLinear q ws -> d", "Mul x d -> y"},
                  kWeights),
            "SiLU 0: 0 3");
}

TEST(CompositesTest, OddNodesAreHarmless) {
  EXPECT_EQ(Found({"Erf - -> e", "Sqrt -> r", "Sigmoid - -> s", "Gemm x -> y",
                   "MatMulInteger -> z"},
                  {}),
            "");
}

}  // namespace
}  // namespace onnx_tag
