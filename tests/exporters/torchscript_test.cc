#include "exporters/torchscript/torchscript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exporters/tools/original_name.h"
#include "hierarchy/alignment.h"

namespace onnx_tag::hierarchy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Join(const std::vector<std::string_view>& atoms) {
  std::string path;
  for (const std::string_view atom : atoms) {
    if (!path.empty()) path += '.';
    path += atom;
  }
  return path;
}

// The module a name stands for, as far as the name tells.
std::string Module(std::string_view name) {
  const ScopedName scoped = SplitScopedName(UndoNodeName(name).name);
  return scoped.ok ? Join(CollapseScope(scoped.scope)) : "-";
}

TEST(TorchScriptTest, NamesGiveModules) {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"/encoder/layer.0/attention/self/query/MatMul",
       "encoder.layer.0.attention.self.query"},
      {"/resnet/encoder/stages.0/layers.0/layer/layer.2/convolution/Conv",
       "resnet.encoder.stages.0.layers.0.layer.2.convolution"},
      {"/resnet/embedder/embedder/convolution/Conv",
       "resnet.embedder.embedder.convolution"},
      {"/tokenizer/conv_layers/conv_layers.0/conv_layers.0.2/MaxPool",
       "tokenizer.conv_layers.0.2"},
      {"/features/features.0/features.0.1/Relu_2", "features.0.1"},
      {"/model.22/dfl/conv/Conv", "model.22.dfl.conv"},
      {"/model/encoder/3/activation/Relu", "model.encoder.3.activation"},
      {"/0/auto_model/encoder/layer.3/output/dense/Add",
       "0.auto_model.encoder.layer.3.output.dense"},
      {"/h.0/ln_1/Mul", "h.0.ln_1"},
      {"/Shape_3", ""},
      {"/bert/encoder/layer.0/output/dense/MatMul/MatMulAddFusion",
       "bert.encoder.layer.0.output.dense"},
      {"/model/layers.0/mlp/down_proj/MatMul_Q4",
       "model.layers.0.mlp.down_proj"},
      {"/x/query/MatMul_quant_output_scale_mul", "x.query"},
      {"/q_proj/input_quantizer/QuantizeLinear", "q_proj.input_quantizer"},
      {"/x/weight/weight.0/Mul", "x.weight.0"},
      {"Identity_12", "-"},
      {"node_linear_3", "-"},
      {"", "-"},
      {"/", "-"},
  };
  for (const auto& [name, module] : vectors) {
    EXPECT_EQ(Module(name), module) << name;
  }
}

TEST(TorchScriptTest, SplitsNodeAndValueNames) {
  const ScopedName node = SplitScopedName("/a/b/MatMul_3");
  EXPECT_TRUE(node.ok);
  EXPECT_EQ(node.scope, "a/b");
  EXPECT_EQ(node.op, "MatMul");
  const ScopedName value = SplitValueName("/a/b/MatMul_3_output_0");
  EXPECT_TRUE(value.ok);
  EXPECT_EQ(value.scope, "a/b");
  EXPECT_EQ(value.op, "MatMul");
  EXPECT_FALSE(SplitValueName("/a/b/MatMul_3").ok);
  EXPECT_FALSE(SplitValueName("val_output_0").ok);
  EXPECT_FALSE(SplitValueName("_output_0").ok);
}

TEST(TorchScriptTest, Pitfall03_ASlashAndAnOpIsTheRoot) {
  const ScopedName root = SplitScopedName("/Constant_3");
  EXPECT_TRUE(root.ok);
  EXPECT_EQ(root.scope, "");
  EXPECT_EQ(root.op, "Constant");
  EXPECT_THAT(CollapseScope(""), IsEmpty());
}

TEST(TorchScriptTest, Pitfall05_OnlyAnIndexFolds) {
  EXPECT_THAT(CollapseScope("layer/layer.0"), ElementsAre("layer", "0"));
  EXPECT_THAT(CollapseScope("embedder/embedder"),
              ElementsAre("embedder", "embedder"));
  EXPECT_THAT(CollapseScope("a/a.b"), ElementsAre("a", "a", "b"));
  // The previous segment counts, not the end of the path.
  EXPECT_THAT(CollapseScope("x.layer/layer.0"),
              ElementsAre("x", "layer", "layer", "0"));
}

TEST(TorchScriptTest, Pitfall06_NestedAndBareIndices) {
  EXPECT_THAT(CollapseScope("conv_layers.0.0"),
              ElementsAre("conv_layers", "0", "0"));
  EXPECT_THAT(CollapseScope("conv_layers.0/conv_layers.0.2"),
              ElementsAre("conv_layers", "0", "2"));
  EXPECT_THAT(CollapseScope("0/0.1/0.1.2"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(CollapseScope("0.1"), ElementsAre("0", "1"));
}

TEST(TorchScriptTest, Pitfall07_OnlyTheLastSegmentCanBeACall) {
  const Reuse inner = SplitReuseSuffix("block_1/linear");
  EXPECT_EQ(inner.base, "block_1/linear");
  EXPECT_EQ(inner.call, 0);
  const Reuse last = SplitReuseSuffix("layers.0/downsample/act_1");
  EXPECT_EQ(last.base, "layers.0/downsample/act");
  EXPECT_EQ(last.call, 1);
}

TEST(TorchScriptTest, Pitfall08_AttributesThatLookLikeCallsAreOnlySplit) {
  EXPECT_THAT(CollapseScope("mlp/linear_1"), ElementsAre("mlp", "linear_1"));
  EXPECT_EQ(SplitReuseSuffix("wi_0").call, 0);  // calls are counted from 1
  EXPECT_EQ(SplitReuseSuffix("wi_0").base, "wi_0");
  EXPECT_EQ(SplitReuseSuffix("layer_norm1").call, 0);
  EXPECT_EQ(SplitReuseSuffix("ln_1").base, "ln");
  EXPECT_EQ(SplitReuseSuffix("default_1").base, "default");
  EXPECT_EQ(SplitReuseSuffix("a/_1").call, 0);
  EXPECT_EQ(SplitReuseSuffix("a_99999999999").call, 0);
  EXPECT_EQ(SplitReuseSuffix("").base, "");
}

TEST(TorchScriptTest, Pitfall11_ANodeMayBeNamedAfterItsOutput) {
  EXPECT_EQ(SplitScopedName("/a/MatMul_1_output_0").op, "MatMul");
  EXPECT_EQ(Module("/a/MatMul_output_0_post_reshape"), "a");
}

TEST(TorchScriptTest, Pitfall13_ScriptedModulesHaveBareDigits) {
  EXPECT_EQ(Module("/model/encoder/3/activation/Relu"),
            "model.encoder.3.activation");
}

TEST(TorchScriptTest, GradientNodesBelongToTheirForwardOp) {
  EXPECT_EQ(Module("/blocks.0/attn/MatMul_Grad/Reshape_3"), "blocks.0.attn");
  EXPECT_EQ(Module("/MatMul_Grad/Reshape_3"), "");
}

TEST(TorchScriptTest, TorchSideQuantizersAreKnown) {
  EXPECT_TRUE(IsQuantizerModule("input_quantizer"));
  EXPECT_TRUE(IsQuantizerModule("weight_quantizer_1"));
  EXPECT_TRUE(IsQuantizerModule("q_bmm_quantizer"));
  EXPECT_FALSE(IsQuantizerModule("quantizer"));
}

TEST(TorchScriptTest, Pitfall04_OddNamesAreHarmless) {
  EXPECT_EQ(Module("///..//"), "-");
  EXPECT_EQ(Module("//a//Conv"), "a");
  EXPECT_EQ(Module("/a..b/.c./Conv"), "a.b.c");
  EXPECT_EQ(Module("/\xff/Conv"), "\xff");
  EXPECT_EQ(SplitScopedName("/a/_3").op, "_3");
  EXPECT_EQ(SplitScopedName("/model/constants/INT64/[64, 64]").op, "[64, 64]");
  const std::string dots(1000000, '.');
  EXPECT_THAT(CollapseScope(dots), IsEmpty());
  std::string deep;
  for (int i = 0; i < 250000; ++i) deep += "/a.0";
  EXPECT_EQ(CollapseScope(deep).size(), 500000u);
}

Alignment AlignPaths(std::string_view scope, std::string_view module) {
  // Collapsing splits at dots, which is all that a module path needs.
  return Align(CollapseScope(scope), CollapseScope(module));
}

TEST(AlignmentTest, RelatesScopesToParameters) {
  EXPECT_EQ(AlignPaths("a/b", "a.b"), Alignment::kEqual);
  EXPECT_EQ(AlignPaths("", ""), Alignment::kEqual);
  EXPECT_EQ(AlignPaths("h.0/ln_1", "transformer.h.0.ln_1"),
            Alignment::kContainersMissing);
  EXPECT_EQ(AlignPaths("encoder/conv1", "encoder.nn_enc_body.layer1.conv1"),
            Alignment::kContainersMissing);
  EXPECT_EQ(AlignPaths("transformer_encoder/layers.0/self_attn",
                       "transformer_encoder.layers.0.self_attn.out_proj"),
            Alignment::kUncalledChild);
  EXPECT_EQ(AlignPaths("a/b/c", "a"), Alignment::kParentParameter);
  EXPECT_EQ(AlignPaths("a/b", ""), Alignment::kParentParameter);
  EXPECT_EQ(AlignPaths("", "fc"), Alignment::kUncalledChild);
}

TEST(AlignmentTest, Pitfall12_UncalledContainersAreFilledIn) {
  EXPECT_EQ(AlignPaths("q_proj/default", "q_proj.lora_A.default"),
            Alignment::kContainersMissing);
}

TEST(AlignmentTest, Pitfall21_DeduplicatedParametersAreUnrelated) {
  EXPECT_EQ(AlignPaths("classifier/blocks.1/pre_norm",
                       "classifier.blocks.0.pre_norm"),
            Alignment::kUnrelated);
  EXPECT_EQ(AlignPaths("h.1/attn", "transformer.h.0.attn"),
            Alignment::kUnrelated);
}

}  // namespace
}  // namespace onnx_tag::hierarchy
