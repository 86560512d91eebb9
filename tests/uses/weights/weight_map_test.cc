#include "uses/weights/weight_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/onnx_models.h"
#include "uses/weights/check.h"

namespace onnx_tag::weights {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Nodes are tagged by their names: "fc/MatMul" is of the module fc, "MatMul" of
// none.
Tagging TagByName(const Model& model,
                  const std::map<std::string, std::string>& classes) {
  Tagging tagging;
  tagging.tags.resize(model.node_count());
  tagging.roles.Add({});
  for (const NodeId node : model.Nodes()) {
    const std::string name(model[node].name);
    if (name.find('/') == std::string::npos) continue;
    const std::string path = name.substr(0, name.rfind('/'));
    Tag& tag = tagging.tags[node];
    tag.module = tagging.modules.Add(path);
    tag.confidence = Confidence::kCertain;
  }
  for (const auto& [path, name] : classes) {
    tagging.modules.SetClass(tagging.modules.Add(path), name);
  }
  return tagging;
}

struct Told {
  std::string change;
  std::vector<std::string> parameters;
  Confidence confidence;
};

std::map<std::string, Told> Map(
    const std::string& graph,
    const std::map<std::string, std::string>& classes = {}) {
  const std::string bytes = test::BytesFromText("graph {" + graph + "}");
  const Model model = ReadModel(bytes);
  std::map<std::string, Told> result;
  for (const Weight& weight : MapWeights(model, TagByName(model, classes))) {
    const ValueId value = model.initializers()[weight.initializer].value;
    result[std::string(model.ValueName(value))] = {
        std::string(kChangeNames[static_cast<std::size_t>(weight.change)]),
        weight.parameters, weight.confidence};
  }
  return result;
}

#define EXPECT_WEIGHT(told, change_name, ...) \
  EXPECT_EQ((told).change, change_name);      \
  EXPECT_THAT((told).parameters, ElementsAre(__VA_ARGS__))

TEST(WeightMapTest, SurvivingNamesAreTheParameters) {
  const auto told = Map(R"(
    node { op_type: "Gemm" name: "fc/Gemm" input: "x" input: "fc.weight" input: "fc.bias" output: "y"
           attribute { name: "transB" type: 2 i: 1 } }
    initializer { name: "fc.weight" data_type: 1 dims: 4 dims: 8 }
    initializer { name: "fc.bias" data_type: 1 dims: 4 })",
                        {{"fc", "Linear"}});
  EXPECT_WEIGHT(told.at("fc.weight"), "same", "fc.weight");
  EXPECT_WEIGHT(told.at("fc.bias"), "same", "fc.bias");
}

TEST(WeightMapTest, TheReaderNamesWhatAToolNamed) {
  const auto told = Map(R"(
    node { op_type: "MatMul" name: "a.fc/MatMul" input: "x" input: "onnx::MatMul_31" output: "v" }
    node { op_type: "Add" name: "a.fc/Add" input: "onnx::Add_32" input: "v" output: "y" }
    initializer { name: "onnx::MatMul_31" data_type: 1 dims: 8 dims: 4 }
    initializer { name: "onnx::Add_32" data_type: 1 dims: 4 })");
  EXPECT_WEIGHT(told.at("onnx::MatMul_31"), "transposed", "a.fc.weight");
  EXPECT_WEIGHT(told.at("onnx::Add_32"), "same", "a.fc.bias");
}

TEST(WeightMapTest, ScalesHaveTheNameOfWhatTheyScale) {
  const auto told = Map(R"(
    node { op_type: "DequantizeLinear" name: "fc/DQ" input: "onnx::MatMul_3_quantized" input: "onnx::MatMul_3_scale" input: "onnx::MatMul_3_zero_point" output: "w" }
    node { op_type: "MatMul" name: "fc/MatMul" input: "x" input: "w" output: "y" }
    node { op_type: "QuantizeLinear" name: "fc/Q" input: "y" input: "y_scale" input: "y_zero_point" output: "z" }
    initializer { name: "onnx::MatMul_3_quantized" data_type: 3 dims: 8 dims: 4 }
    initializer { name: "onnx::MatMul_3_scale" data_type: 1 }
    initializer { name: "onnx::MatMul_3_zero_point" data_type: 3 }
    initializer { name: "y_scale" data_type: 1 }
    initializer { name: "y_zero_point" data_type: 2 })");
  EXPECT_WEIGHT(told.at("onnx::MatMul_3_quantized"), "quantized", "fc.weight");
  EXPECT_WEIGHT(told.at("onnx::MatMul_3_scale"), "scale", "fc.weight");
  EXPECT_WEIGHT(told.at("onnx::MatMul_3_zero_point"), "zero_point",
                "fc.weight");
  EXPECT_EQ(told.at("y_scale").change, "scale");
  EXPECT_THAT(told.at("y_scale").parameters, IsEmpty());
}

TEST(WeightMapTest, OneTensorOfTwoModulesIsTied) {
  const auto told = Map(R"(
    node { op_type: "Gather" name: "wte/Gather" input: "lm_head.weight" input: "i" output: "v" }
    node { op_type: "Transpose" name: "lm_head/Transpose" input: "lm_head.weight" output: "t" }
    node { op_type: "MatMul" name: "lm_head/MatMul" input: "v" input: "t" output: "y" }
    initializer { name: "lm_head.weight" data_type: 1 dims: 9 dims: 4 })");
  EXPECT_WEIGHT(told.at("lm_head.weight"), "tied", "lm_head.weight",
                "wte.weight");
}

constexpr std::string_view kFoldedFrom = "pkg.onnxscript.optimizer.folded_from";

// What onnxscript's optimizer writes beside a tensor that it computed.
std::string Folded(const std::string& tensor, const std::string& from) {
  return "value_info { name: \"" + tensor + "\" metadata_props { key: \"" +
         std::string(kFoldedFrom) + "\" value: \"[" + from + "]\" } }";
}

TEST(WeightMapTest, ATensorWhoseTransposedCopyItsModuleReadsIsTied) {
  const auto told = Map(R"(
    node { op_type: "Gather" name: "wte/Gather" input: "lm_head.weight" input: "i" output: "v" }
    node { op_type: "MatMul" name: "lm_head/MatMul" input: "v" input: "val_9" output: "y" }
    initializer { name: "lm_head.weight" data_type: 1 dims: 9 dims: 4 }
    initializer { name: "val_9" data_type: 1 dims: 4 dims: 9 })" +
                        Folded("val_9", "'lm_head.weight'"));
  EXPECT_WEIGHT(told.at("lm_head.weight"), "tied", "lm_head.weight",
                "wte.weight");
  EXPECT_WEIGHT(told.at("val_9"), "transposed", "lm_head.weight");
}

TEST(WeightMapTest, RowsOfATableAreAPieceOfIt) {
  const std::string graph = R"(
    node { op_type: "Add" name: "emb/Add" input: "x" input: "embedding_1" output: "a" }
    node { op_type: "Add" name: "emb/Add_1" input: "a" input: "unsqueeze" output: "b" }
    node { op_type: "Add" name: "emb/Add_2" input: "b" input: "add_6" output: "c" }
    node { op_type: "Add" name: "emb/Add_3" input: "c" input: "repeat" output: "y" }
    initializer { name: "embedding_1" data_type: 1 dims: 1 dims: 8 dims: 4 }
    initializer { name: "unsqueeze" data_type: 1 dims: 1 dims: 8 dims: 4 }
    initializer { name: "add_6" data_type: 1 dims: 1 dims: 8 dims: 4 }
    initializer { name: "repeat" data_type: 1 dims: 1 dims: 8 dims: 4 })";
  const auto told = Map(
      graph + Folded("embedding_1", "'emb.pos.weight', 'emb.position_ids'") +
      Folded("unsqueeze", "'emb.t.weight', 'embedding_2', 'add'") +
      Folded("add_6", "'emb.t.weight', 'embedding_2', 'mask'") +
      Folded("repeat", "'arange', 'pow_1', 'val_3', 'emb.inv_freq'"));
  EXPECT_WEIGHT(told.at("embedding_1"), "split", "emb.pos.weight");
  EXPECT_WEIGHT(told.at("unsqueeze"), "split", "emb.t.weight");
  // Something was added after the rows were taken.
  EXPECT_WEIGHT(told.at("add_6"), "folded", "emb.t.weight");
  EXPECT_EQ(told.at("repeat").change, "computed");
  EXPECT_THAT(told.at("repeat").parameters, IsEmpty());
}

// Some norms multiply with 1 + weight, which the exporter computes ahead.
TEST(WeightMapTest, AComputedVectorIsNotTheParameterItself) {
  const std::string graph = R"(
    node { op_type: "Mul" name: "norm/Mul" input: "x" input: "add_4" output: "v" }
    node { op_type: "Mul" name: "last/Mul" input: "v" input: "val_7" output: "w" }
    node { op_type: "Mul" name: "last/Mul_1" input: "w" input: "a.scale" output: "y" }
    initializer { name: "add_4" data_type: 1 dims: 4 }
    initializer { name: "val_7" data_type: 1 dims: 4 dims: 1 }
    initializer { name: "a.scale" data_type: 1 dims: 4 }
    value_info { name: "a.scale" metadata_props {
      key: "pkg.torch.export.graph_signature.InputSpec.persistent" value: "False" } })";
  const auto told = Map(graph + Folded("add_4", "'norm.weight', 'val_1'") +
                        Folded("val_7", "'last.weight', 'val_6'"));
  EXPECT_WEIGHT(told.at("add_4"), "folded", "norm.weight");
  EXPECT_WEIGHT(told.at("val_7"), "same", "last.weight");
  EXPECT_EQ(told.at("a.scale").change, "computed");
}

TEST(WeightMapTest, ATableThatNobodyExplainsIsInDoubt) {
  const auto told = Map(R"(
    node { op_type: "Add" name: "emb/Add" input: "x" input: "onnx::Add_24" output: "y" }
    initializer { name: "onnx::Add_24" data_type: 1 dims: 1 dims: 8 dims: 4 })");
  EXPECT_EQ(told.at("onnx::Add_24").confidence, Confidence::kLow);
}

// dynamo folds a BatchNorm into a convolution with a bias, and keeps the names.
TEST(WeightMapTest, ANormAmongTheOriginsIsFoldedIn) {
  const std::string bytes = test::BytesFromText(R"(graph {
    node { op_type: "Conv" name: "conv/Conv" input: "x" input: "conv.weight" input: "conv.bias" output: "v" }
    node { op_type: "Conv" name: "last/Conv" input: "v" input: "last.weight" input: "last.bias" output: "y" }
    initializer { name: "conv.weight" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
    initializer { name: "conv.bias" data_type: 1 dims: 8 }
    initializer { name: "last.weight" data_type: 1 dims: 8 dims: 8 dims: 1 dims: 1 }
    initializer { name: "last.bias" data_type: 1 dims: 8 } })");
  const Model model = ReadModel(bytes);
  Tagging tagging = TagByName(model, {{"norm", "BatchNorm2d"}});
  tagging.origins.push_back(
      {*model.Nodes().begin(), tagging.modules.Find("norm")});
  const std::vector<Weight> told = MapWeights(model, tagging);
  EXPECT_EQ(told[0].change, Change::kFolded);
  EXPECT_THAT(told[0].parameters, ElementsAre("conv.weight"));
  EXPECT_EQ(told[1].change, Change::kFolded);
  EXPECT_THAT(told[1].parameters,
              ElementsAre("conv.bias", "norm.weight", "norm.bias",
                          "norm.running_mean", "norm.running_var"));
  EXPECT_EQ(told[2].change, Change::kSame);
  EXPECT_EQ(told[3].change, Change::kSame);
}

TEST(WeightMapTest, EqualWeightsOfNormsThatMultiplyAreTied) {
  const auto told = Map(R"(
    node { op_type: "Mul" name: "a.norm/Mul" input: "x" input: "a.norm.weight" output: "v" }
    node { op_type: "Mul" name: "b.norm/Mul" input: "v" input: "a.norm.weight" output: "y" }
    initializer { name: "a.norm.weight" data_type: 1 dims: 4 })");
  EXPECT_WEIGHT(told.at("a.norm.weight"), "tied", "a.norm.weight",
                "b.norm.weight");
}

TEST(WeightMapTest, RecurrentLayersAndFusedAttentionAreMerged) {
  const auto told = Map(R"(
    node { op_type: "LSTM" name: "rnn/LSTM" input: "x" input: "W1" input: "R1" input: "B1" output: "v" }
    node { op_type: "LSTM" name: "rnn/LSTM_1" input: "v" input: "W2" input: "R2" input: "B2" output: "w" }
    node { op_type: "Attention" domain: "com.microsoft" name: "self/Attention" input: "w" input: "Attention_0_qkv_weight" input: "Attention_0_qkv_bias" output: "y" }
    node { op_type: "Relu" name: "self.query/R" } node { op_type: "Relu" name: "self.key/R" } node { op_type: "Relu" name: "self.value/R" }
    initializer { name: "W1" data_type: 1 dims: 1 dims: 8 dims: 2 }
    initializer { name: "R1" data_type: 1 dims: 1 dims: 8 dims: 2 }
    initializer { name: "B1" data_type: 1 dims: 1 dims: 16 }
    initializer { name: "W2" data_type: 1 dims: 2 dims: 8 dims: 2 }
    initializer { name: "R2" data_type: 1 dims: 2 dims: 8 dims: 2 }
    initializer { name: "B2" data_type: 1 dims: 2 dims: 16 }
    initializer { name: "Attention_0_qkv_weight" data_type: 1 dims: 4 dims: 12 }
    initializer { name: "Attention_0_qkv_bias" data_type: 1 dims: 12 })");
  EXPECT_WEIGHT(told.at("W1"), "merged", "rnn.weight_ih_l0");
  EXPECT_WEIGHT(told.at("R2"), "merged", "rnn.weight_hh_l1",
                "rnn.weight_hh_l1_reverse");
  EXPECT_WEIGHT(told.at("B1"), "merged", "rnn.bias_ih_l0", "rnn.bias_hh_l0");
  EXPECT_WEIGHT(told.at("Attention_0_qkv_weight"), "merged",
                "self.query.weight", "self.key.weight", "self.value.weight");
}

TEST(WeightMapTest, AGruAfterAnLstmIsNotItsNextLayer) {
  const auto told = Map(R"(
    node { op_type: "LSTM" name: "rnn/LSTM" input: "x" input: "W1" output: "v" }
    node { op_type: "GRU" name: "rnn/GRU" input: "v" input: "W2" output: "y" }
    initializer { name: "W1" data_type: 1 dims: 1 dims: 8 dims: 2 }
    initializer { name: "W2" data_type: 1 dims: 1 dims: 6 dims: 2 })");
  EXPECT_WEIGHT(told.at("W1"), "merged", "rnn.weight_ih_l0");
  EXPECT_WEIGHT(told.at("W2"), "merged", "rnn.weight_ih_l0");
}

TEST(WeightMapTest, ConvolutionsWithoutNamesAreFolded) {
  const auto told = Map(R"(
    node { op_type: "Conv" name: "conv1/Conv" input: "x" input: "onnx::Conv_1" input: "onnx::Conv_2" output: "y" }
    initializer { name: "onnx::Conv_1" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
    initializer { name: "onnx::Conv_2" data_type: 1 dims: 8 })");
  EXPECT_WEIGHT(told.at("onnx::Conv_1"), "folded", "conv1.weight");
  // Whether the convolution had a bias of its own, the file does not say.
  EXPECT_EQ(told.at("onnx::Conv_2").change, "folded");
  EXPECT_THAT(told.at("onnx::Conv_2").parameters, IsEmpty());
}

TEST(WeightMapTest, NumbersAndTablesAreNoParameters) {
  const auto told = Map(R"(
    node { op_type: "Reshape" name: "a/Reshape" input: "x" input: "onnx::Reshape_4" output: "v" }
    node { op_type: "Where" name: "a/Where" input: "mask_table" input: "v" input: "low" output: "y" }
    initializer { name: "onnx::Reshape_4" data_type: 7 dims: 3 }
    initializer { name: "mask_table" data_type: 9 dims: 16 dims: 16 }
    initializer { name: "low" data_type: 1 })");
  EXPECT_EQ(told.at("onnx::Reshape_4").change, "constant");
  EXPECT_EQ(told.at("low").change, "constant");
}

TEST(WeightMapTest, WhatIsShapedForBroadcastingIsAParameterToo) {
  const auto told = Map(R"(
    node { op_type: "InstanceNormalization" name: "norm/I" input: "x" input: "ones" input: "zeros" output: "v" }
    node { op_type: "Mul" name: "norm/Mul" input: "v" input: "onnx::Mul_5" output: "w" }
    node { op_type: "Add" name: "norm/Add" input: "w" input: "onnx::Add_6" output: "y" }
    initializer { name: "ones" data_type: 1 dims: 4 }
    initializer { name: "zeros" data_type: 1 dims: 4 }
    initializer { name: "onnx::Mul_5" data_type: 1 dims: 8 dims: 1 dims: 1 }
    initializer { name: "onnx::Add_6" data_type: 1 dims: 8 dims: 1 dims: 1 })",
                        {{"norm", "GroupNorm"}});
  EXPECT_WEIGHT(told.at("onnx::Mul_5"), "same", "norm.weight");
  EXPECT_WEIGHT(told.at("onnx::Add_6"), "same", "norm.bias");
  // The normalization itself has ones and zeros.
  EXPECT_THAT(told.at("ones").parameters, IsEmpty());
  EXPECT_THAT(told.at("zeros").parameters, IsEmpty());
}

TEST(WeightMapTest, OnePackedProjectionIsTheAttentionsOwn) {
  const auto told = Map(R"(
    node { op_type: "MatMul" name: "attn/MatMul" input: "x" input: "onnx::MatMul_1" output: "v" }
    node { op_type: "Relu" name: "attn.out_proj/R" input: "v" output: "w" }
    node { op_type: "Concat" name: "embed/Concat" input: "expand" input: "w" output: "y" }
    node { op_type: "Add" name: "lm/Add" input: "y" input: "onnx::Add_2" output: "z" }
    initializer { name: "onnx::MatMul_1" data_type: 1 dims: 4 dims: 12 }
    initializer { name: "expand" data_type: 1 dims: 1 dims: 1 dims: 4 }
    initializer { name: "onnx::Add_2" data_type: 1 dims: 1 dims: 9 })",
                        {{"lm", "BartForConditionalGeneration"}});
  EXPECT_WEIGHT(told.at("onnx::MatMul_1"), "transposed", "attn.in_proj_weight");
  EXPECT_WEIGHT(told.at("expand"), "same", "embed.cls_token");
  EXPECT_WEIGHT(told.at("onnx::Add_2"), "same", "lm.final_logits_bias");
}

TEST(WeightMapTest, QuantizedConstantsAndCopiesAreTold) {
  const auto told = Map(R"(
    node { op_type: "DequantizeLinear" name: "a/DQ" input: "val_7_quantized" input: "val_7_scale" output: "c" }
    node { op_type: "Pow" name: "a/Pow" input: "x" input: "c" output: "v" }
    node { op_type: "MatMulInteger" name: "fc/M" input: "q" input: "val_8_quantized" input: "qz" input: "val_8_zero_point" output: "m" }
    node { op_type: "Mul" name: "fc/S" input: "xs" input: "val_8_scale" output: "s" }
    node { op_type: "DequantizeLinear" name: "n/DQ" input: "n.bias0_quantized" input: "n.bias0_quantized_scale" output: "b" }
    node { op_type: "Add" name: "n/Add" input: "v" input: "b" output: "y" }
    node { op_type: "Add" name: "conv/Add" input: "y" input: "onnx::Conv_9" output: "z" }
    initializer { name: "val_7_quantized" data_type: 3 }
    initializer { name: "val_7_scale" data_type: 1 }
    initializer { name: "val_8_quantized" data_type: 3 dims: 8 dims: 4 }
    initializer { name: "val_8_scale" data_type: 1 }
    initializer { name: "val_8_zero_point" data_type: 3 }
    initializer { name: "n.bias_quantized" data_type: 6 dims: 4 }
    initializer { name: "n.bias0_quantized" data_type: 6 dims: 4 }
    initializer { name: "n.bias0_quantized_scale" data_type: 1 dims: 4 }
    initializer { name: "onnx::Conv_9" data_type: 1 dims: 1 dims: 4 dims: 1 dims: 1 })");
  EXPECT_EQ(told.at("val_7_quantized").change, "quantized");
  EXPECT_THAT(told.at("val_7_quantized").parameters, IsEmpty());
  EXPECT_WEIGHT(told.at("val_8_quantized"), "quantized", "fc.weight");
  EXPECT_WEIGHT(told.at("val_8_scale"), "scale", "fc.weight");
  EXPECT_WEIGHT(told.at("n.bias0_quantized"), "quantized", "n.bias");
  EXPECT_EQ(told.at("onnx::Conv_9").change, "folded");
  EXPECT_THAT(told.at("onnx::Conv_9").parameters, IsEmpty());
}

TEST(WeightMapTest, WhatIsInDoubtHasTheLowestLevel) {
  const auto told = Map(R"(
    node { op_type: "Conv" name: "Conv" input: "x" input: "onnx::Conv_1" output: "v" }
    node { op_type: "MatMul" name: "layer/MatMul" input: "v" input: "onnx::MatMul_2" output: "w" }
    node { op_type: "MatMul" name: "fc/MatMul" input: "w" input: "onnx::MatMul_3" output: "y" }
    initializer { name: "onnx::Conv_1" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
    initializer { name: "onnx::MatMul_2" data_type: 1 dims: 4 dims: 4 }
    initializer { name: "onnx::MatMul_3" data_type: 1 dims: 4 dims: 4 })",
                        {{"layer", "BertLayer"}, {"fc", "Linear"}});
  EXPECT_EQ(told.at("onnx::Conv_1").confidence, Confidence::kLow);
  EXPECT_EQ(told.at("onnx::Conv_1").change, "folded");
  EXPECT_THAT(told.at("onnx::Conv_1").parameters, IsEmpty());
  EXPECT_EQ(told.at("onnx::MatMul_2").confidence, Confidence::kLow);
  EXPECT_EQ(told.at("onnx::MatMul_3").confidence, Confidence::kHigh);
}

TEST(WeightMapTest, AHeadWithoutAModuleHasTheNameOfTheEmbedding) {
  const std::string graph = R"(
    node { op_type: "Gather" name: "wte/Gather" input: "wte.weight" input: "ids" output: "v" }
    node { op_type: "Gather" name: "wpe/Gather" input: "wpe.weight" input: "at" output: "p" }
    node { op_type: "MatMul" name: "body/MatMul" input: "v" input: "onnx::MatMul_1" output: "w" }
    node { op_type: "MatMul" name: "HEAD/MatMul" input: "w" input: "onnx::MatMul_2" output: "y" }
    initializer { name: "wte.weight" data_type: 1 dims: 50 dims: 4 }
    initializer { name: "wpe.weight" data_type: 1 dims: 8 dims: 4 }
    initializer { name: "onnx::MatMul_1" data_type: 1 dims: 4 dims: 8 }
    initializer { name: "onnx::MatMul_2" data_type: 1 dims: 4 dims: 50 })";
  const std::map<std::string, std::string> classes = {
      {"body", "GPT2Model"}, {"model", "GPT2Model"}, {"lm_head", "Linear"}};
  const auto with = [&](const std::string& head) {
    std::string text = graph;
    return Map(text.replace(text.find("HEAD"), 4, head), classes);
  };
  const auto told = with("model");
  EXPECT_WEIGHT(told.at("onnx::MatMul_2"), "transposed", "wte.weight");
  EXPECT_EQ(told.at("onnx::MatMul_2").confidence, Confidence::kLow);
  // Only the table of the vocabulary has a head.
  EXPECT_WEIGHT(told.at("onnx::MatMul_1"), "transposed", "body.weight");
  EXPECT_WEIGHT(with("lm_head").at("onnx::MatMul_2"), "transposed",
                "lm_head.weight");
}

TEST(ReferenceTest, ReadsTheHeadOfSafetensors) {
  const std::string head =
      R"({"__metadata__": {"format": "pt"}, "a.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(head.size());
  file += head;  // and no weights behind it
  const auto tensors = ReadSafetensorsTensors(file, true);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].name, "a.weight");
  EXPECT_THAT(tensors[0].dims, ElementsAre(2, 3));
  // Cut anywhere, it is refused.
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_ANY_THROW(ReadSafetensorsTensors(Bytes(file).substr(0, size), true));
  }
}

TEST(CheckTest, KnowsWhichVectorsAreZero) {
  const std::string head =
      R"({"a.bias": {"shape": [2], "data_offsets": [0, 8]},)"
      R"( "b.bias": {"shape": [2], "data_offsets": [4, 12]},)"
      R"( "cut.bias": {"shape": [2], "data_offsets": [8, 20]},)"
      R"( "turned.bias": {"shape": [2], "data_offsets": [8, 0]},)"
      R"( "a.weight": {"shape": [1, 2], "data_offsets": [0, 8]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(head.size() & 255);
  file[1] = static_cast<char>(head.size() >> 8);
  file += head + std::string(11, '\0') + '\1';
  const std::string bytes = test::BytesFromText(R"(graph {
    initializer { name: "a.weight" data_type: 1 dims: 2 }
    initializer { name: "b.weight" data_type: 1 dims: 2 }
    initializer { name: "cut.weight" data_type: 1 dims: 2 }
    initializer { name: "turned.weight" data_type: 1 dims: 2 } })");
  const Model model = ReadModel(bytes);
  const CheckResult check =
      Check(model, MapWeights(model, TagByName(model, {})),
            ReadSafetensorsTensors(file, true));
  EXPECT_EQ(check.zeros, 1u);
  EXPECT_THAT(check.missing, ElementsAre("b.bias", "cut.bias", "turned.bias"));
}

TEST(CheckTest, ExplainsFoldedNormsAndCounters) {
  const std::string bytes = test::BytesFromText(
      R"(graph {
    node { op_type: "Conv" name: "conv/Conv" input: "x" input: "onnx::Conv_1" input: "onnx::Conv_2" output: "y" }
    initializer { name: "onnx::Conv_1" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
    initializer { name: "onnx::Conv_2" data_type: 1 dims: 8 } })");
  const Model model = ReadModel(bytes);
  Tagging tagging =
      TagByName(model, {{"conv", "Conv2d"}, {"bn", "BatchNorm2d"}});
  const auto norm = [](const std::string& path) {
    std::vector<Tensor> tensors;
    for (const std::string end :
         {"weight", "bias", "running_mean", "running_var"}) {
      tensors.push_back({path + "." + end, 1, {8}});
    }
    tensors.push_back({path + ".num_batches_tracked", 1, {}});
    return tensors;
  };
  std::vector<Tensor> reference = norm("bn");
  reference.push_back({"conv.weight", 1, {8, 3, 3, 3}});
  const CheckResult check = Check(model, MapWeights(model, tagging), reference);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.fit, 1u);
  EXPECT_EQ(check.folded, 4u);
  EXPECT_EQ(check.counters, 1u);

  // A bias of the convolution's own is in the tensor, too.
  reference.push_back({"conv.bias", 1, {8}});
  EXPECT_TRUE(Check(model, MapWeights(model, tagging), reference).ok());

  // One folded bias explains one normalization.
  for (const Tensor& tensor : norm("bn2")) reference.push_back(tensor);
  EXPECT_THAT(Check(model, MapWeights(model, tagging), reference).missing,
              ElementsAre("bn2.weight", "bn2.bias", "bn2.running_mean",
                          "bn2.running_var"));

  // If the file says which normalization it was, the weight names it.
  tagging.origins.push_back({NodeId{0}, tagging.modules.Find("bn")});
  EXPECT_THAT(
      MapWeights(model, tagging)[1].parameters,
      ElementsAre("bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"));
}

TEST(CheckTest, HasNoSizeForATensorThatNoMemoryHolds) {
  const std::string bytes = test::BytesFromText(
      R"(graph {
    node { op_type: "Conv" name: "conv/Conv" input: "x" input: "onnx::Conv_1" input: "onnx::Conv_2" output: "y" }
    initializer { name: "onnx::Conv_1" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
    initializer { name: "onnx::Conv_2" data_type: 1 dims: 4611686018427387904 dims: 4 dims: 8 } })");
  const Model model = ReadModel(bytes);
  const Tagging tagging = TagByName(model, {{"conv", "Conv2d"}});
  const std::vector<Tensor> reference = {
      {"conv.weight", 1, {8, 3, 3, 3}},
      {"bn.running_mean", 1, {8}},
  };
  EXPECT_THAT(Check(model, MapWeights(model, tagging), reference).missing,
              ElementsAre("bn.running_mean"));
}

TEST(CheckTest, ExplainsFoldedNormsThatShareABiasWithALayer) {
  // The exporter merged equal tensors: all biases are zero.
  const std::string bytes = test::BytesFromText(
      R"(graph {
    node { op_type: "Identity" input: "gate.bias" output: "onnx::Conv_2" }
    node { op_type: "Conv" name: "conv/Conv" input: "x" input: "onnx::Conv_1" input: "onnx::Conv_2" output: "y" }
    node { op_type: "Conv" name: "gate/Conv" input: "y" input: "gate.weight" input: "gate.bias" output: "z" }
    initializer { name: "onnx::Conv_1" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
    initializer { name: "gate.weight" data_type: 1 dims: 8 dims: 8 dims: 1 dims: 1 }
    initializer { name: "gate.bias" data_type: 1 dims: 8 } })");
  const Model model = ReadModel(bytes);
  const Tagging tagging =
      TagByName(model, {{"conv", "Conv2d"}, {"gate", "Conv2d"}});
  std::vector<Tensor> reference = {{"conv.weight", 1, {8, 3, 3, 3}},
                                   {"gate.weight", 1, {8, 8, 1, 1}},
                                   {"gate.bias", 1, {8}}};
  // Nothing explains why conv has a bias.
  EXPECT_THAT(Check(model, MapWeights(model, tagging), reference).left_over,
              ElementsAre("conv.bias"));
  for (const std::string end :
       {"weight", "bias", "running_mean", "running_var"}) {
    reference.push_back({"bn." + end, 1, {8}});
  }
  const CheckResult check = Check(model, MapWeights(model, tagging), reference);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.folded, 4u);
}

TEST(CheckTest, ExplainsBiasesOfZeroThatTheExporterLeftOut) {
  const std::string bytes = test::BytesFromText(
      R"(graph {
    node { op_type: "Conv" name: "conv/Conv" input: "x" input: "conv.weight" output: "y" }
    initializer { name: "conv.weight" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 } })");
  const Model model = ReadModel(bytes);
  const auto weights =
      MapWeights(model, TagByName(model, {{"conv", "Conv2d"}}));
  const auto check = [&](bool is_zero, const std::vector<std::string>& norms) {
    const std::string zeros(32, '\0');
    const Bytes numbers = is_zero ? Bytes(zeros) : Bytes();
    std::vector<Tensor> reference = {{"conv.weight", 1, {8, 3, 3, 3}},
                                     {"conv.bias", 1, {8}, 8, numbers}};
    for (const std::string& norm : norms) {
      for (const std::string end : {".weight", ".running_var"}) {
        reference.push_back({norm + end, 1, {8}});
      }
      for (const std::string end : {".bias", ".running_mean"}) {
        reference.push_back({norm + end, 1, {8}, 8, numbers});
      }
    }
    return Check(model, weights, reference);
  };
  EXPECT_TRUE(check(true, {"bn"}).ok());
  EXPECT_EQ(check(true, {"bn"}).folded, 4u);
  EXPECT_EQ(check(true, {"bn"}).zeros, 1u);
  // A bias with values would have left a trace.
  EXPECT_EQ(check(false, {"bn"}).missing.size(), 5u);
  // One convolution takes one normalization.
  EXPECT_EQ(check(true, {"bn", "bn2"}).missing.size(), 4u);
}

TEST(CheckTest, ExplainsANormFoldedIntoAConvolutionWithItsOwnBias) {
  const auto check = [](const std::string& reader) {
    const std::string bytes = test::BytesFromText(
        R"(graph {
      node { op_type: "Conv" name: "conv/Conv" input: "x" input: "conv.weight" input: "conv.bias" output: "y" }
      node { op_type: ")" +
        reader +
        R"(" input: "y" output: "z" }
      initializer { name: "conv.weight" data_type: 1 dims: 8 dims: 3 dims: 3 dims: 3 }
      initializer { name: "conv.bias" data_type: 1 dims: 8 } })");
    const Model model = ReadModel(bytes);
    std::vector<Tensor> reference = {{"conv.weight", 1, {8, 3, 3, 3}},
                                     {"conv.bias", 1, {8}}};
    for (const std::string end :
         {"weight", "bias", "running_mean", "running_var"}) {
      reference.push_back({"bn." + end, 1, {8}});
    }
    return Check(model,
                 MapWeights(model, TagByName(model, {{"conv", "Conv2d"}})),
                 reference);
  };
  EXPECT_EQ(check("Relu").folded, 4u);
  // The normalization behind it was not folded.
  EXPECT_EQ(check("BatchNormalization").missing.size(), 4u);
}

// A checkpoint has tied tensors twice, or under one of their names.
TEST(CheckTest, TiedTensorsFitUnderOneName) {
  const std::string bytes = test::BytesFromText(R"(graph {
    node { op_type: "Gather" name: "wte/Gather" input: "head.weight" input: "i" output: "v" }
    node { op_type: "Transpose" name: "head/T" input: "head.weight" output: "t" }
    node { op_type: "MatMul" name: "head/MatMul" input: "v" input: "t" output: "y" }
    initializer { name: "head.weight" data_type: 1 dims: 2 dims: 1 } })");
  const Model model = ReadModel(bytes);
  const std::vector<Weight> told = MapWeights(model, TagByName(model, {}));
  EXPECT_TRUE(Check(model, told, {{"wte.weight", 1, {2, 1}}}).ok());
  const CheckResult twice = Check(model, told,
                                  {{"wte.weight", 1, {2, 1}, 2, "8 bytes."},
                                   {"old.weight", 1, {2, 1}, 2, "8 bytes."}});
  EXPECT_TRUE(twice.ok());
  EXPECT_EQ(twice.equal, 1u);
  const CheckResult other = Check(
      model, told, {{"wte.weight", 1, {2, 1}}, {"old.weight", 1, {2, 1}}});
  EXPECT_THAT(other.missing, ElementsAre("old.weight"));
}

TEST(CheckTest, TellsWhatFitsWhatIsMissingAndWhatIsLeftOver) {
  const std::string bytes = test::BytesFromText(
      R"pb(graph {
             node {
               op_type: "MatMul"
               name: "fc/MatMul"
               input: "x"
               input: "onnx::MatMul_1"
               output: "y"
             }
             initializer { name: "onnx::MatMul_1" data_type: 1 dims: 8 dims: 4 }
             initializer { name: "b.weight" data_type: 1 dims: 2 }
             initializer { name: "c.weight" data_type: 1 dims: 2 }
           })pb");
  const Model model = ReadModel(bytes);
  const auto weights = MapWeights(model, TagByName(model, {}));
  const CheckResult result = Check(
      model, weights,
      {{"fc.weight", 1, {4, 8}}, {"b.weight", 1, {3}}, {"d.weight", 1, {1}}});
  EXPECT_EQ(result.fit, 1u);
  EXPECT_THAT(result.missing, ElementsAre("d.weight"));
  EXPECT_THAT(result.left_over, ElementsAre("c.weight"));
  ASSERT_EQ(result.shapes.size(), 1u);
  EXPECT_EQ(result.shapes[0].name, "b.weight");
}

}  // namespace
}  // namespace onnx_tag::weights
