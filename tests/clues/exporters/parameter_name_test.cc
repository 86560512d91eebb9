#include "clues/exporters/parameter_name.h"

#include <gtest/gtest.h>

#include <string>

#include "clues/exporters/tools/original_name.h"

namespace onnx_tag::hierarchy {
namespace {

TEST(ParameterNameTest, IsOrIsNot) {
  for (const std::string_view name :
       {"encoder.layer.0.attention.self.query.bias", "cls_token",
        "lm_head.weight", "logit_scale",
        "model.layers.0.mlp.experts.gate_up_proj", "blocks.0.gamma_1",
        "stages.0.blocks.0.attn.attention_biases",
        "features.denseblock1.norm1.running_mean", "_torch_params.dense/kernel",
        "final_logits_bias", "0.weight", "inv_freq", "blocks_1.w_0.weight",
        "stage_1.block.w_0", "gate.w_1",
        "conv.parametrizations.weight.original0"}) {
    EXPECT_TRUE(IsParameterName(name)) << name;
  }
  for (const std::string_view name : {"onnx::MatMul_1438",
                                      "1438",
                                      "val_12",
                                      "_val_3",
                                      "_v_197",
                                      "/a/Constant_3_output_0",
                                      "Attention_0_qkv_weight",
                                      "Attention_0_qkv_bias",
                                      "ortshared_1_0_1_0_token_3",
                                      "const_fold_opt__12",
                                      "const_transpose_optimizer",
                                      "init7_s1_-1",
                                      "c_lifted_tensor_0",
                                      "lifted_tensor_4",
                                      "model/dense/BiasAdd/ReadVariableOp:0",
                                      "gemm_input_shape",
                                      "v_model.lm_head.Transpose_106",
                                      "MatMul_1261",
                                      "conv2d_12.w_0",
                                      "batch_norm2d_3.b_0_deepcopy_31",
                                      "add_12",
                                      "unsqueeze",
                                      "bitwise_and",
                                      "",
                                      ".",
                                      "a.",
                                      ".a",
                                      "einsum281472829934672_ba_left_set__939",
                                      "helper.constant.4"}) {
    EXPECT_FALSE(IsParameterName(name)) << name;
  }
}

TEST(ParameterNameTest, Pitfall16_SanitizedNamesAreNotTheRoots) {
  for (const std::string_view name :
       {"p_model_layers_0_mlp_fc1_weight", "b_rotary_emb_inv_freq",
        "classifier_blocks_1_pre_norm_bias", "mul_11_weight"}) {
    EXPECT_TRUE(IsSanitizedParameterName(name)) << name;
    EXPECT_FALSE(IsParameterName(name)) << name;
  }
  for (const std::string_view name :
       {"cls_token", "a.b_0_c", "gamma_1", "final_logits_bias", ""}) {
    EXPECT_FALSE(IsSanitizedParameterName(name)) << name;
  }
}

TEST(ParameterNameTest, Pitfall15_FoldedWeightsNameTheirConsumer) {
  EXPECT_FALSE(IsParameterName("onnx::MatMul_123"));
}

TEST(ParameterNameTest, Pitfall28_PackedWeightsHaveNoModule) {
  EXPECT_FALSE(IsParameterName("Attention_0_qkv_weight"));
}

void ExpectSplit(std::string_view name, std::string_view module,
                 std::string_view parameter) {
  const ParameterName split = SplitParameterName(name);
  EXPECT_EQ(split.module, module) << name;
  EXPECT_EQ(split.parameter, parameter) << name;
}

TEST(ParameterNameTest, Pitfall26_TheLastAtomIsTheParameter) {
  ExpectSplit("a.b.weight", "a.b", "weight");
  ExpectSplit("cls_token", "", "cls_token");
  ExpectSplit("mlp.experts.gate_up_proj", "mlp.experts", "gate_up_proj");
  ExpectSplit("mixer.A_log", "mixer", "A_log");
  ExpectSplit("attn.in_proj_weight", "attn", "in_proj_weight");
  ExpectSplit("conv.weight_bias", "conv", "weight_bias");
  ExpectSplit("", "", "");
}

TEST(ParameterNameTest, Pitfall27_ParametrizationsBelongToTheModule) {
  ExpectSplit("pos_conv.parametrizations.weight.original0", "pos_conv",
              "parametrizations.weight.original0");
  ExpectSplit("parametrizations.weight.original1", "",
              "parametrizations.weight.original1");
  ExpectSplit("conv.weight_g", "conv", "weight_g");
}

TEST(ParameterNameTest, Pitfall24_AGluedDigitStaysWithTheParameter) {
  ExpectSplit("a.b.bias0", "a.b", "bias0");
  EXPECT_FALSE(IsParameterName("onnx::Conv_1930"));
}

TEST(ParameterNameTest, Pitfall22And23_TiedAndMergedWeightsKeepTheirOwner) {
  ExpectSplit(UndoTensorName("transformer.wte.weight_transposed").name,
              "transformer.wte", "weight");
  ExpectSplit(UndoTensorName("model.shared.weight_merged_0").name,
              "model.shared", "weight");
}

TEST(ParameterNameTest, Pitfall25_AliasesOfFoldedConstantsAreNoParameters) {
  EXPECT_TRUE(IsParameterName("layers.2.blocks.1.mlp.fc2.bias"));
  EXPECT_FALSE(IsParameterName("onnx::Concat_370"));
}

TEST(ParameterNameTest, AMegabyteOfPartsIsSplitLikeFiftyParts) {
  for (const std::string_view part :
       {".", "a.", "parametrizations.", "_1", "_"}) {
    SCOPED_TRACE(part);
    std::string few;
    for (int i = 0; i < 50; ++i) few += part;
    std::string many;
    while (many.size() < 1000000) many += part;
    EXPECT_EQ(IsParameterName(many), IsParameterName(few));
    const ParameterName split = SplitParameterName(many);
    const ParameterName expected = SplitParameterName(few);
    EXPECT_TRUE(split.parameter == expected.parameter ||
                split.module == expected.module);
  }
}

TEST(GenerationPrefixTest, NeedsAScopeOrAPathBehindIt) {
  EXPECT_EQ(GenerationPrefix("s_d_transformer.h.0.weight"), "s_d_");
  EXPECT_EQ(GenerationPrefix("e_/encoder/MatMul"), "e_");
  EXPECT_EQ(GenerationPrefix("d_model"), "");
}

}  // namespace
}  // namespace onnx_tag::hierarchy
