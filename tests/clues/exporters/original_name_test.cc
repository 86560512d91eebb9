#include "clues/exporters/tools/original_name.h"

#include <gtest/gtest.h>

#include <string>

namespace onnx_tag::hierarchy {
namespace {

constexpr int kQuantizer = 1;
constexpr int kCast = 2;
constexpr int kFused = 4;
constexpr int kModuleOnly = 8;

int Flags(const StrippedName& undone) {
  return (undone.quantizer ? kQuantizer : 0) | (undone.cast ? kCast : 0) |
         (undone.fused ? kFused : 0) | (undone.module_only ? kModuleOnly : 0);
}

struct Vector {
  std::string_view name;
  std::string_view undone;
  int flags = 0;
};

TEST(UndoNodeNameTest, TakesToolsSuffixesOff) {
  const Vector vectors[] = {
      // ONNX Runtime
      {"/bert/encoder/layer.0/output/dense/MatMul/MatMulAddFusion",
       "/bert/encoder/layer.0/output/dense/MatMul", kFused},
      {"/x/LayerNorm/Mul_1/LayerNormFusion/", "/x/LayerNorm/Mul_1", kFused},
      {"/x/norm/Mul_1/SimplifiedLayerNormFusion/", "/x/norm/Mul_1", kFused},
      {"/x/MatMul/MatMulScaleFusion//MatmulTransposeFusion/", "/x/MatMul",
       kFused},
      {"/x/act/Mul/QuickGeluFusion/", "/x/act/Mul", kFused},
      {"Slice_2649/GatherSliceToSplitFusion", "Slice_2649", kFused},
      {"/x/Gemm/GemmSumFusion/", "/x/Gemm", kFused},
      {"/x/Conv_FusedActivation", "/x/Conv", kFused},
      {"fused /pooler/Gemm", "/pooler/Gemm", kFused},
      {"Gather_token_12", "Gather"},
      {"/x/Conv_3_token_4", "/x/Conv_3"},
      {"/x/Reshape_3_new_reshape", "/x/Reshape_3", kFused},
      {"node_Reshape_3_new_reshape", "node_Reshape_3", kFused},
      {"/x/Conv_output_0_nchwc", "/x/Conv_output_0", kFused},
      {"/x/Conv_output_0_bn_nchwc", "/x/Conv_output_0", kFused},
      {"InsertedPrecisionFreeCast_/x/MatMul_output_0", "/x/MatMul_output_0",
       kCast},
      // a model inlined into a branch
      {"If_0_else_branch__Inline_0__/stft/Conv", "/stft/Conv"},
      {"F6::If_0_then_branch__Inline_0__/Squeeze", "/Squeeze"},
      {"a__Inline_1__If_2_then_branch__Inline_0__/x/Add", "/x/Add"},
      {"_if_then_branch_/fc/MatMul_output_0", "/fc/MatMul_output_0"},
      {"_if_else_branch_token_3_/fc/MatMul", "/fc/MatMul"},
      {"x__Inline_/fc/MatMul", "x__Inline_/fc/MatMul"},
      {"x__Inline_0__", "x__Inline_0__"},
      {"_inlfunc_HardSwish_token_3_HS_X", "HS_X", kFused},
      {"_inlfunc_HardSwish_HS_X", "HS_X", kFused},
      {"_inlfunc_aten_gelu_token_3_/x/Mul", "/x/Mul", kFused},
      {"gemm_input_reshape_token_5", "gemm_input_reshape_token_5", kFused},
      {"/x/MatMul/duplicated", "/x/MatMul"},
      // half precision
      {"LayerNorm_10_output_cast0", "LayerNorm_10", kCast},
      {"/x/Add_input_cast1", "/x/Add", kCast},
      {"/x/Range_1_output_0_cast_to_fp16_node", "/x/Range_1_output_0", kCast},
      {"/x/Range_1_cast_to_fp32", "/x/Range_1", kCast},
      {"graph_output_cast_0", "graph_output_cast_0", kCast},
      {"graph_input_cast1", "graph_input_cast1", kCast},
      // quantizers
      {"/x/query/MatMul_quant", "/x/query/MatMul", kQuantizer},
      {"/x/query/MatMul_quant_scales_mul", "/x/query/MatMul", kQuantizer},
      {"/x/query/MatMul_quant_output_scale_mul", "/x/query/MatMul", kQuantizer},
      {"/x/MatMul_output_0_output_quantized_cast", "/x/MatMul_output_0",
       kQuantizer},
      {"/pooler/Gemm_MatMul_quant_scales_mul", "/pooler/Gemm", kQuantizer},
      {"/pooler/Gemm_output_0_MatMul_output_quantized_cast",
       "/pooler/Gemm_output_0", kQuantizer},
      {"/pooler/Gemm_Add", "/pooler/Gemm"},
      {"/x/Conv_output_0_bias_add", "/x/Conv_output_0"},
      {"/x/Relu_output_0_QuantizeLinear", "/x/Relu_output_0", kQuantizer},
      {"/x/Relu_output_0_DequantizeLinear_1", "/x/Relu_output_0", kQuantizer},
      {"/x/Relu_output_0_DequantizeLinear/duplicated", "/x/Relu_output_0",
       kQuantizer},
      {"onnx::Conv_105_DequantizeLinear", "onnx::Conv_105", kQuantizer},
      {"/model/layers.0/mlp/down_proj/MatMul_Q4",
       "/model/layers.0/mlp/down_proj/MatMul", kQuantizer},
      {"/lm_head/MatMul_DQ_Q4", "/lm_head/MatMul", kQuantizer},
      {"/lm_head/MatMul_matmul_Q4", "/lm_head/MatMul", kQuantizer},
      {"/lm_head/MatMul_Bnb4", "/lm_head/MatMul", kQuantizer},
      {"/x/Conv_weight_dq", "/x/Conv", kQuantizer},
      {"/x/Conv_dq3", "/x/Conv", kQuantizer},
      // OnnxSlim, inliners
      {"/x/MatMul_output_0_pre_reshape", "/x/MatMul_output_0", kFused},
      {"/x/MatMul_output_0_post_reshape", "/x/MatMul_output_0", kFused},
      {"/x/MatMul_3__7", "/x/MatMul_3"},
      // several
      {"/x/Conv_quant_token_3", "/x/Conv", kQuantizer},
      {"fused /x/MatMul/MatMulAddFusion_token_2", "/x/MatMul", kFused},
  };
  for (const Vector& vector : vectors) {
    const StrippedName undone = UndoNodeName(vector.name);
    EXPECT_EQ(undone.name, vector.undone) << vector.name;
    EXPECT_EQ(Flags(undone), vector.flags) << vector.name;
  }
}

TEST(UndoNodeNameTest, LeavesRealNamesAlone) {
  for (const std::string_view name : {"/encoder/layer.0/MatMul_3",
                                      "/Shape_3",
                                      "/wi_0/MatMul",
                                      "MatMul_24",
                                      "node_linear_3",
                                      "node_split__1",
                                      "node_reshape",
                                      "view_q",
                                      "/x/lora_q",
                                      "node_to_q",
                                      "MatMul__283",
                                      "n0",
                                      "/model/constants/INT64/[0]",
                                      "Attention_0",
                                      "ReorderInput",
                                      "/LayerNormFusion",
                                      "x_identity",
                                      "_quant",
                                      "/",
                                      ""}) {
    EXPECT_EQ(UndoNodeName(name).name, name);
  }
}

TEST(UndoTensorNameTest, GivesTheOriginalTensor) {
  const Vector vectors[] = {
      {"a.b.weight_quantized", "a.b.weight", kQuantizer},
      {"a.b.weight_scale", "a.b.weight", kQuantizer},
      {"a.b.weight_zero_point", "a.b.weight", kQuantizer},
      {"pixel_values_zero_point", "pixel_values", kQuantizer},
      {"a.b.bias_quantized_scale", "a.b.bias", kQuantizer},
      {"a.b.bias_quantized_zero_point", "a.b.bias", kQuantizer},
      {"onnx::MatMul_312_scale", "onnx::MatMul_312", kQuantizer},
      {"/x/Flatten_output_0_scale", "/x/Flatten_output_0", kQuantizer},
      {"846_scale", "846", kQuantizer},
      {"a.b.MatMul.weight_Q4", "a.b.MatMul.weight", kQuantizer},
      {"a.b.MatMul.weight_scales", "a.b.MatMul.weight", kQuantizer},
      {"a.b.weight_zero_points", "a.b.weight", kQuantizer},
      {"a.b.weight_DQ_Q4", "a.b.weight", kQuantizer},
      {"a.b.weight_DQ_scales", "a.b.weight", kQuantizer},
      {"a.b.weight_DQ_zero_points", "a.b.weight", kQuantizer},
      {"lm_head.MatMul.weight_DQ_Q4_output", "lm_head.MatMul.weight",
       kQuantizer},
      {"a.b.weight_Bnb4", "a.b.weight", kQuantizer},
      {"a.b.qweight", "a.b", kQuantizer | kModuleOnly},
      {"a.b.scales", "a.b", kQuantizer | kModuleOnly},
      {"a.b.qzeros", "a.b", kQuantizer | kModuleOnly},
      {"a.b.g_idx", "a.b", kQuantizer | kModuleOnly},
      {"/x/Relu_output_0_QuantizeLinear_Output", "/x/Relu_output_0",
       kQuantizer},
      {"a.b.weight_DequantizeLinear_Output", "a.b.weight", kQuantizer},
      {"/x/Relu_output_0_QuantizeLinear_Input", "/x/Relu_output_0", kQuantizer},
      {"/x/MatMul_output_0_output_quantized", "/x/MatMul_output_0", kQuantizer},
      {"model.shared.weight_merged_0", "model.shared.weight"},
      {"transformer.wte.weight_transposed", "transformer.wte.weight"},
      {"transformer.wte.weight_merged_0_transposed", "transformer.wte.weight"},
      {"/x/Add_output_0_token_7", "/x/Add_output_0"},
      {"/x/Add_output_0_CUDAExecutionProvider", "/x/Add_output_0"},
      {"a.b.weight_cast_to_fp16", "a.b.weight", kCast},
      {"ConvMulFusion_W_conv.weight", "conv.weight", kFused},
      {"ConvAddFusion_B_conv.bias", "conv.bias", kFused},
      {"ConvBnFusion_BN_B_base_net.0.1.bias", "base_net.0.1.bias", kFused},
      {"ConvMulFusion_Mul_B_onnx::Mul_371", "onnx::Mul_371", kFused},
      {"/x/MatMul_output_0_weight", "/x/MatMul_output_0", kFused},
      {"/x/Conv_output_0_bias_fused", "/x/Conv_output_0", kFused},
      {"/x/MatMul_output_0_gemm_out", "/x/MatMul_output_0", kFused},
      {"val_129_weight", "val_129", kFused},
      {"/x/Conv_output_0_bias_reshape_shape", "/x/Conv_output_0"},
  };
  for (const Vector& vector : vectors) {
    const StrippedName undone = UndoTensorName(vector.name);
    EXPECT_EQ(undone.name, vector.undone) << vector.name;
    EXPECT_EQ(Flags(undone), vector.flags) << vector.name;
  }
}

TEST(UndoTensorNameTest, KnowsWhatStandsBesideAWeight) {
  for (const std::string_view name :
       {"a.weight_scale", "a.weight_zero_point", "a.weight_quantized_scale",
        "a.weight_scales", "a.weight_zero_points", "a.weight_absmax",
        "a.weight_DQ_scales", "a.scales", "a.qzeros",
        "a.weight_scale_merged_0"}) {
    EXPECT_TRUE(UndoTensorName(name).beside_weight) << name;
  }
  for (const std::string_view name :
       {"a.weight", "a.weight_quantized", "a.qweight", "a.layer_scale",
        "logit_scale"}) {
    EXPECT_FALSE(UndoTensorName(name).beside_weight) << name;
  }
}

TEST(UndoTensorNameTest, LeavesRealNamesAlone) {
  for (const std::string_view name :
       {"logit_scale", "a.layer_scale", "a.b.weight", "a.b.in_proj_weight",
        "experts.gate_up_proj", "a.rel_bias", "cls_token", "onnx::MatMul_312",
        "/x/MatMul_3_output_0", "input.19", "357", "b_scale",
        "Attention_0_qkv_weight", ""}) {
    EXPECT_EQ(UndoTensorName(name).name, name);
  }
}

TEST(UndoTest, Pitfall10_FusedNameEndsAboveItsOp) {
  EXPECT_EQ(UndoNodeName("/a/dense/MatMul/MatMulAddFusion").name,
            "/a/dense/MatMul");
}

TEST(UndoTest, Pitfall30_QuantizedNamesCarryStackedSuffixes) {
  EXPECT_EQ(UndoTensorName("a.weight_quantized_scale_merged_0_token_4").name,
            "a.weight");
  EXPECT_EQ(UndoTensorName("a.bias_quantized_zero_point_DequantizeLinear_"
                           "Output")
                .name,
            "a.bias");
}

TEST(UndoTest, Pitfall04_OddCharactersSurvive) {
  for (const std::string_view name :
       {"///..//x", "a b.c::d[0]", "\xff\xfe", "/model/constants/INT64/[0]"}) {
    EXPECT_EQ(UndoNodeName(name).name, name);
  }
  const std::string nul("/a\0b/Conv", 9);
  EXPECT_EQ(UndoNodeName(nul + "_quant").name, nul);
}

// What a tool's name loses in front and behind, or what is left of it.
struct Loss {
  std::size_t front;
  std::size_t back;
  std::string_view left;
};

Loss LossOf(std::string_view name, std::string_view undone) {
  const auto front = static_cast<std::size_t>(undone.data() - name.data());
  return {front, name.size() - front - undone.size(), undone};
}

TEST(UndoTest, AMegabyteOfPartsIsUndoneLikeFiftyParts) {
  for (const std::string_view part :
       {"_q", "_quant", "fused ", "/", "__1", "_inlfunc_a", "_token_1", "1",
        "/LayerNormFusion/", "ConvFusion_W_", "_weight_scale", "."}) {
    SCOPED_TRACE(part);
    std::string few = "/A";
    for (int i = 0; i < 50; ++i) few += part;
    std::string many = "/A";
    while (many.size() < 1000000) many += part;
    for (const std::size_t from : {0, 2}) {
      for (const auto undo : {UndoNodeName, UndoTensorName}) {
        const std::string_view short_name = std::string_view(few).substr(from);
        const std::string_view long_name = std::string_view(many).substr(from);
        const Loss a = LossOf(short_name, undo(short_name).name);
        const Loss b = LossOf(long_name, undo(long_name).name);
        // A rule takes one part away, or all of them.
        EXPECT_TRUE(a.left == b.left ||
                    (a.front == b.front && a.back == b.back))
            << a.front << " " << a.back << ", " << b.front << " " << b.back;
      }
    }
  }
}

}  // namespace
}  // namespace onnx_tag::hierarchy
