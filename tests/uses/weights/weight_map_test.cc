#include "uses/weights/weight_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/onnx_models.h"

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

}  // namespace
}  // namespace onnx_tag::weights
