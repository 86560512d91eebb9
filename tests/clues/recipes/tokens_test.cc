// Whatever way an operation is written, it is one token.
#include "clues/recipes/tokens/tokens.h"

#include <gtest/gtest.h>

#include "clues/recipes/small_model.h"

namespace onnx_tag::recipes::test {
namespace {

TEST(Tokens, LinearIsAMatMulWithItsBias) {
  EXPECT_EQ(
      SmallModel({"MatMul x w -> y", "Add y b -> z"}, {{"w", 2}, {"b", 1}})
          .Labels(),
      "LIN");
  EXPECT_EQ(SmallModel({"Gemm x w b -> z"}, {{"w", 2}, {"b", 1}}).Labels(),
            "LIN");
}

TEST(Tokens, LinearIsAGemmBetweenReshapes) {
  EXPECT_EQ(
      SmallModel({"Reshape x s -> a", "Gemm a w b -> c", "Reshape c t -> z"},
                 {{"s", 1}, {"t", 1}, {"w", 2}, {"b", 1}})
          .Labels(),
      "LIN");
}

TEST(Tokens, LinearIsAQuantizedMatMul) {
  EXPECT_EQ(SmallModel({"DynamicQuantizeLinear x -> q qs qz",
                        "MatMulInteger q w qz -> i", "Cast i -> f",
                        "Mul qs ws -> s", "Mul f s -> y", "Add y b -> z"},
                       {{"w", 2}, {"ws", 1}, {"b", 1}})
                .Labels(),
            "LIN");
}

TEST(Tokens, ProductOfTwoTensorsIsNoLinear) {
  EXPECT_EQ(SmallModel({"Relu x -> a", "MatMul a x -> z"}, {}).Labels(),
            "Relu MatMul");
}

TEST(Tokens, LayerNorm) {
  EXPECT_EQ(SmallModel({"ReduceMean x -> m", "Sub x m -> d", "Pow d two -> p",
                        "ReduceMean p -> v", "Add v eps -> e", "Sqrt e -> r",
                        "Div d r -> n", "Mul n w -> s", "Add s b -> z"},
                       {{"two", 0}, {"eps", 0}, {"w", 1}, {"b", 1}})
                .Labels(),
            "LN");
  EXPECT_EQ(SmallModel({"LayerNormalization x w b -> z"}, {{"w", 1}, {"b", 1}})
                .Labels(),
            "LN");
}

TEST(Tokens, RmsNorm) {
  EXPECT_EQ(SmallModel({"Cast x -> c", "Pow c two -> p", "ReduceMean p -> v",
                        "Add v eps -> e", "Sqrt e -> r", "Div one r -> i",
                        "Mul c i -> n", "Cast n -> h", "Mul w h -> z"},
                       {{"two", 0}, {"one", 0}, {"eps", 0}, {"w", 1}})
                .Labels(),
            "RMS");
}

TEST(Tokens, GeluWithErf) {
  EXPECT_EQ(SmallModel({"Div x c -> a", "Erf a -> e", "Add e one -> f",
                        "Mul x f -> g", "Mul g half -> z"},
                       {{"c", 0}, {"one", 0}, {"half", 0}})
                .Labels(),
            "GELU");
}

TEST(Tokens, GeluWithTanh) {
  EXPECT_EQ(
      SmallModel({"Mul x half -> h", "Pow x three -> p", "Mul p c -> q",
                  "Add x q -> s", "Mul s k -> u", "Tanh u -> t",
                  "Add t one -> f", "Mul h f -> z"},
                 {{"half", 0}, {"three", 0}, {"c", 0}, {"k", 0}, {"one", 0}})
          .Labels(),
      "GELU");
}

TEST(Tokens, ActivationsWithSigmoid) {
  EXPECT_EQ(SmallModel({"Sigmoid x -> s", "Mul x s -> z"}, {}).Labels(),
            "SILU");
  EXPECT_EQ(SmallModel({"HardSigmoid x -> s", "Mul x s -> z"}, {}).Labels(),
            "HSWISH");
  EXPECT_EQ(
      SmallModel({"Mul x c -> a", "Sigmoid a -> s", "Mul x s -> z"}, {{"c", 0}})
          .Labels(),
      "QGELU");
}

TEST(Tokens, ConstantsAndShapesAreNone) {
  EXPECT_EQ(SmallModel({"Shape x -> s", "Gather s i -> d", "Unsqueeze d a -> u",
                        "Reshape x u -> z"},
                       {{"i", 0}, {"a", 1}})
                .Labels(),
            "Reshape");
}

TEST(Tokens, LabelsTellWhatIsRead) {
  EXPECT_EQ(SmallModel({"Add c x -> a", "Add a x -> b", "Gather t x -> e",
                        "Mul b e -> z"},
                       {{"c", 1}, {"t", 2}})
                .Labels(),
            "Add:dc Add:dd Gather:cd Mul:dd");
}

TEST(Tokens, QuantizersAreLookedThrough) {
  EXPECT_EQ(SmallModel({"QuantizeLinear x s -> q", "DequantizeLinear q s -> d",
                        "MatMul d w -> y", "QuantizeLinear y s -> r",
                        "DequantizeLinear r s -> e", "Add e b -> z"},
                       {{"s", 0}, {"w", 2}, {"b", 1}})
                .Labels(),
            "LIN");
}

TEST(Tokens, ConvolutionIsAQuantizedOne) {
  EXPECT_EQ(SmallModel({"DynamicQuantizeLinear x -> q qs qz",
                        "ConvInteger q w qz -> i", "Cast i -> f",
                        "Mul qs ws -> s", "Mul f s -> y", "Add y b -> z"},
                       {{"w", 4}, {"ws", 1}, {"b", 4}})
                .Labels(),
            "CONV");
}

TEST(Tokens, LinearIsAQuantizedMatMulBetweenReshapes) {
  EXPECT_EQ(
      SmallModel({"Reshape x s -> a", "DynamicQuantizeLinear a -> q qs qz",
                  "MatMulInteger q w qz -> i", "Cast i -> f", "Mul qs ws -> m",
                  "Mul f m -> y", "Add y b -> c", "Reshape c t -> z"},
                 {{"s", 1}, {"t", 1}, {"w", 2}, {"ws", 1}, {"b", 1}})
          .Labels(),
      "LIN");
}

TEST(Tokens, FusedNodesHaveATokenForEachOperation) {
  EXPECT_EQ(SmallModel({"FusedConv[activation=Relu] x w b -> z"},
                       {{"w", 4}, {"b", 1}})
                .Labels(),
            "CONV Relu");
  EXPECT_EQ(
      SmallModel({"Sigmoid x -> y", "SkipLayerNormalization x y w b -> z"},
                 {{"w", 1}, {"b", 1}})
          .Labels(),
      "Sigmoid Add:dd LN");
  EXPECT_EQ(SmallModel({"Attention x w b -> z"}, {{"w", 2}, {"b", 1}}).Labels(),
            "LIN LIN LIN MatMul SOFTMAX MatMul");
  EXPECT_EQ(SmallModel({"MultiHeadAttention x x x -> z"}, {}).Labels(),
            "MatMul SOFTMAX MatMul");
  EXPECT_EQ(SmallModel({"FusedMatMul[alpha=0.125] x x -> z"}, {}).Labels(),
            "MatMul Mul:dc");
  EXPECT_EQ(SmallModel({"QuickGelu[alpha=1.0] x -> z"}, {}).Labels(), "SILU");
  EXPECT_EQ(SmallModel({"QuickGelu[alpha=1.702] x -> z"}, {}).Labels(),
            "QGELU");
}

TEST(Tokens, TheSumOfAFusedNormIsReadWhereItIsMade) {
  const SmallModel model(
      {"Sigmoid x -> y", "SkipLayerNormalization x y w b -> n m v s",
       "Tanh s -> z"},
      {{"w", 1}, {"b", 1}});
  const GraphFacts facts(model.model());
  const TokenGraph graph(facts);
  ASSERT_EQ(graph.tokens().size(), 4u);
  EXPECT_EQ(graph.tokens()[1].label, "Add:dd");
  EXPECT_TRUE(graph.tokens()[1].is_echo);
  EXPECT_EQ(graph.tokens()[3].inputs, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(graph.token_of()[MakeId<NodeId>(1)], 2u);
}

TEST(Tokens, AFusedBiasNamesTheProductBeforeIt) {
  const SmallModel model(
      {"MatMul x onnx::MatMul_1 -> y", "BiasGelu y layer.0.fc1.bias -> z"},
      {{"onnx::MatMul_1", 2}, {"layer.0.fc1.bias", 1}});
  const GraphFacts facts(model.model());
  const TokenGraph graph(facts);
  ASSERT_EQ(graph.tokens().size(), 2u);
  EXPECT_EQ(graph.tokens()[0].anchor, "layer.0.fc1");
  EXPECT_EQ(graph.tokens()[1].anchor, "");
}

TEST(Tokens, TheBodyOfABranchSeesTensorsOutsideIt) {
  const SmallModel plain(
      {"MatMul x w -> y", "Add y head.fc.bias -> t", "Relu t -> z"},
      {{"w", 2}, {"head.fc.bias", 1}});
  const std::string bytes = InABranch(plain.bytes());
  const Model model = ReadModel(bytes);
  const GraphFacts facts(model);
  const TokenGraph graph(facts, MakeId<GraphId>(1));
  ASSERT_EQ(graph.tokens().size(), 2u);
  EXPECT_EQ(graph.tokens()[0].label, "LIN");
  EXPECT_EQ(graph.tokens()[0].anchor, "head.fc");
  EXPECT_EQ(graph.tokens()[1].label, "Relu");
}

TEST(Tokens, AnchorIsTheModuleOfTheParameter) {
  const SmallModel model(
      {"MatMul x onnx::MatMul_1 -> y", "Add y encoder.layer.0.dense.bias -> z"},
      {{"onnx::MatMul_1", 2}, {"encoder.layer.0.dense.bias", 1}});
  const GraphFacts facts(model.model());
  const TokenGraph graph(facts);
  ASSERT_EQ(graph.tokens().size(), 1u);
  EXPECT_EQ(graph.tokens()[0].anchor, "encoder.layer.0.dense");
}

TEST(Tokens, DepthFirstOrderForgetsTheFilesOrder) {
  // 0 and 1 are read by 2 in this order, whichever is written first.
  EXPECT_EQ(DepthFirstOrder({{}, {}, {1, 0}}, {2}),
            (std::vector<std::uint32_t>{1, 0, 2}));
}

}  // namespace
}  // namespace onnx_tag::recipes::test
