// What tools append to names. A new tool is a new line here and its vector in
// tests/clues/exporters/original_name_test.cc.
#ifndef ONNX_TAG_CLUES_EXPORTERS_TOOLS_SUFFIX_RULES_H_
#define ONNX_TAG_CLUES_EXPORTERS_TOOLS_SUFFIX_RULES_H_

#include <cstdint>
#include <string_view>

namespace onnx_tag::hierarchy {

// What a suffix says of the node or tensor that has it.
enum class Effect : std::uint8_t {
  kNone,
  kQuantizer,
  kScale,  // a quantizer's scale or zero point: it stands beside the weight
  kCast,
  kFused,
  kModule,  // the weight of a module in fewer bits; its own name is gone
  kModuleScale,
};

// What must be left for a suffix to be one.
enum class Rest : std::uint8_t {
  kAny,
  kSlash,   // a scope
  kOrigin,  // a scoped op, a dotted parameter or an onnx:: name
  kTensor,  // ends as weights and values do
  kValue,   // ends in _output_N, or is val_N
  kGemm,    // ends in Gemm, Gemm_N or Gemm_output_N
};

// `#` at the end of a text stands for one or more digits.
struct Rule {
  std::string_view text;
  Effect effect = Effect::kNone;
  Rest rest = Rest::kAny;
};

inline constexpr Rule kSharedSuffixes[] = {
    {"_token_#"},
    {"_nchwc", Effect::kFused},
    {"_bn_nchwc", Effect::kFused},
    {"_mul_nchwc", Effect::kFused},
    {"_cast_to_fp16", Effect::kCast},
    {"_cast_to_fp32", Effect::kCast},
    {"_input_cast#", Effect::kCast},
    {"_output_cast#", Effect::kCast},
    {"_QuantizeLinear", Effect::kQuantizer},
    {"_DequantizeLinear", Effect::kQuantizer},
    {"_QuantizeLinear_#", Effect::kQuantizer},
    {"_DequantizeLinear_#", Effect::kQuantizer},
    {"_QuantizeLinear_Output", Effect::kQuantizer},
    {"_DequantizeLinear_Output", Effect::kQuantizer},
    {"_QuantizeLinear_Input", Effect::kQuantizer},
    {"_DequantizeLinear_Input", Effect::kQuantizer},
    {"_Q#", Effect::kQuantizer},
    {"_DQ_Q#", Effect::kQuantizer},
    {"_Bnb4", Effect::kQuantizer},
    {"_q", Effect::kQuantizer, Rest::kOrigin},
    {"_dq", Effect::kQuantizer, Rest::kOrigin},
    {"_dq#", Effect::kQuantizer, Rest::kOrigin},
    {"_dummy_dq", Effect::kQuantizer, Rest::kOrigin},
    {"_reshape", Effect::kNone, Rest::kOrigin},
    {"_bias_reshape", Effect::kNone, Rest::kOrigin},
    {"_bias_add", Effect::kNone, Rest::kOrigin},
    // The dynamic quantizer splits a Gemm first.
    {"_MatMul", Effect::kNone, Rest::kGemm},
    {"_Add", Effect::kNone, Rest::kGemm},
    {"/duplicated"},
    // onnx's inliner; tf2onnx and dynamo write the same for other reasons, but
    // not behind an exporter's scope.
    {"__#", Effect::kNone, Rest::kSlash},
};

inline constexpr Rule kNodeSuffixes[] = {
    {"_FusedActivation", Effect::kFused},
    {"/MobileClipProjectionGemm", Effect::kFused},
    {"_qknorm", Effect::kFused, Rest::kOrigin},
    {"_transformed", Effect::kFused, Rest::kOrigin},
    {"_replace", Effect::kFused, Rest::kOrigin},
    {"_identity", Effect::kFused, Rest::kOrigin},
    {"_pre_reshape", Effect::kFused, Rest::kOrigin},
    {"_post_reshape", Effect::kFused, Rest::kOrigin},
    {"_new_reshape", Effect::kFused, Rest::kOrigin},
    {"_cast_to_fp16_node", Effect::kCast},
    {"_cast_to_fp32_node", Effect::kCast},
    {"_quant", Effect::kQuantizer},
    {"_quant_scales_mul", Effect::kQuantizer},
    {"_quant_output_scale_mul", Effect::kQuantizer},
    {"_output_quantized_cast", Effect::kQuantizer},
    {"_matmul_Q#", Effect::kQuantizer},
    {"_bias_int32", Effect::kQuantizer, Rest::kOrigin},
    {"_weight_q", Effect::kQuantizer, Rest::kSlash},
    {"_weight_dq", Effect::kQuantizer, Rest::kSlash},
    {"_bias_dq", Effect::kQuantizer, Rest::kSlash},
};

inline constexpr Rule kTensorSuffixes[] = {
    {"_quantized", Effect::kQuantizer},
    {"_output_quantized", Effect::kQuantizer},
    {"_quantized_scale", Effect::kScale},
    {"_quantized_zero_point", Effect::kScale},
    {"_scale", Effect::kScale, Rest::kTensor},
    {"_zero_point", Effect::kScale},
    {"_scales", Effect::kScale, Rest::kTensor},
    {"_zero_points", Effect::kScale},
    {"_absmax", Effect::kScale, Rest::kTensor},
    {"_DQ_scales", Effect::kScale},
    {"_DQ_zero_points", Effect::kScale},
    {"_DQ_Q4_output", Effect::kQuantizer},
    {"_DQ_Q8_output", Effect::kQuantizer},
    {".qweight", Effect::kModule},
    {".scales", Effect::kModuleScale},
    {".qzeros", Effect::kModuleScale},
    {".g_idx", Effect::kModuleScale},
    {"_merged_#"},
    {"_transposed", Effect::kNone, Rest::kOrigin},
    {"_int32", Effect::kCast, Rest::kOrigin},
    {"_new_shape", Effect::kFused, Rest::kOrigin},
    {"_bias_reshape_shape", Effect::kNone, Rest::kOrigin},
    // OnnxSlim's.
    {"_axes", Effect::kNone, Rest::kValue},
    {"_starts", Effect::kNone, Rest::kValue},
    {"_ends", Effect::kNone, Rest::kValue},
    {"_steps", Effect::kNone, Rest::kValue},
    {"_shape", Effect::kNone, Rest::kValue},
    {"_gemm_out", Effect::kFused, Rest::kValue},
    {"_pre_reshape_in", Effect::kFused, Rest::kValue},
    {"_pre_reshape_out", Effect::kFused, Rest::kValue},
    {"_post_reshape_in", Effect::kFused, Rest::kValue},
    {"_weight", Effect::kFused, Rest::kValue},
    {"_bias", Effect::kFused, Rest::kValue},
    {"_weight_fused", Effect::kFused, Rest::kValue},
    {"_bias_fused", Effect::kFused, Rest::kValue},
};

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_TOOLS_SUFFIX_RULES_H_
