#include <gtest/gtest.h>

#include <string>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/tools/original_name.h"

namespace onnx_tag::hierarchy {
namespace {

// The scope in a name, what tools added to the name undone; "-": none.
std::string_view ScopeOf(std::string_view name) {
  const ScopedName scoped = SplitScopedName(UndoNodeName(name).name);
  return scoped.ok ? scoped.scope : "-";
}

TEST(TorchScriptTest, NamesGiveScopes) {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"/encoder/layer.0/attention/self/query/MatMul",
       "encoder/layer.0/attention/self/query"},
      {"/tokenizer/conv_layers/conv_layers.0/conv_layers.0.2/MaxPool",
       "tokenizer/conv_layers/conv_layers.0/conv_layers.0.2"},
      {"/features/features.0/features.0.1/Relu_2",
       "features/features.0/features.0.1"},
      {"/model/encoder/3/activation/Relu", "model/encoder/3/activation"},
      {"/h.0/ln_1/Mul", "h.0/ln_1"},
      {"/Shape_3", ""},
      {"/bert/encoder/layer.0/output/dense/MatMul/MatMulAddFusion",
       "bert/encoder/layer.0/output/dense"},
      {"/model/layers.0/mlp/down_proj/MatMul_Q4",
       "model/layers.0/mlp/down_proj"},
      {"/x/query/MatMul_quant_output_scale_mul", "x/query"},
      {"/q_proj/input_quantizer/QuantizeLinear", "q_proj/input_quantizer"},
      {"Identity_12", "-"},
      {"node_linear_3", "-"},
      {"", "-"},
      {"/", "-"},
  };
  for (const auto& [name, scope] : vectors) {
    EXPECT_EQ(ScopeOf(name), scope) << name;
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

TEST(TorchScriptTest, AnOutputIsTheNodeWithANumber) {
  EXPECT_TRUE(IsOutputOf("/a/MatMul_output_0", "/a/MatMul"));
  EXPECT_TRUE(IsOutputOf("/a/MatMul_output_12", "/a/MatMul"));
  EXPECT_FALSE(IsOutputOf("/a/MatMul_output_", "/a/MatMul"));
  EXPECT_FALSE(IsOutputOf("/a/MatMul_1_output_0", "/a/MatMul"));
  EXPECT_FALSE(IsOutputOf("/b/MatMul_output_0", "/a/MatMul"));
  EXPECT_FALSE(IsOutputOf("/a/MatMul_output_0_cast", "/a/MatMul"));
}

TEST(TorchScriptTest, Pitfall03_ASlashAndAnOpIsTheRoot) {
  const ScopedName root = SplitScopedName("/Constant_3");
  EXPECT_TRUE(root.ok);
  EXPECT_EQ(root.scope, "");
  EXPECT_EQ(root.op, "Constant");
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
  EXPECT_EQ(ScopeOf("/a/MatMul_output_0_post_reshape"), "a");
}

TEST(TorchScriptTest, GradientNodesBelongToTheirForwardOp) {
  EXPECT_EQ(ScopeOf("/blocks.0/attn/MatMul_Grad/Reshape_3"), "blocks.0/attn");
  EXPECT_EQ(ScopeOf("/MatMul_Grad/Reshape_3"), "");
}

TEST(TorchScriptTest, Pitfall04_OddNamesAreHarmless) {
  EXPECT_EQ(ScopeOf("///..//"), "-");
  EXPECT_EQ(ScopeOf("//a//Conv"), "/a/");
  EXPECT_EQ(ScopeOf("/\xff/Conv"), "\xff");
  EXPECT_EQ(SplitScopedName("/a/_3").op, "_3");
  EXPECT_EQ(SplitScopedName("/model/constants/INT64/[64, 64]").op, "[64, 64]");
  const std::string dots(1000000, '.');
  EXPECT_FALSE(SplitScopedName("/" + dots).ok);
}

}  // namespace
}  // namespace onnx_tag::hierarchy
