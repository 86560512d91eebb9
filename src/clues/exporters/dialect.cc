#include "clues/exporters/dialect.h"

#include "clues/exporters/onnxscript/onnxscript_nn.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

// `n0`, `n12`: nodes of inlined onnxscript functions.
bool IsInlinedNode(std::string_view name) {
  return ConsumePrefix(name, "n") && IsNumeric(name);
}

bool IsPaddle(std::string_view name, std::string_view op_type) {
  ConsumePrefix(name, "p2o.");
  auto op = WithoutNumbered(name, ".");
  if (!op) op = WithoutNumbered(name, "@");  // before Paddle 2
  return op && *op == op_type;
}

// What onnxruntime.transformers calls nodes it made, where the op's name would
// not do.
constexpr std::string_view kFusedNames[] = {
    "GptAttention",
    "LayerNorm",
    "RMSNorm",
    "SkipLayerNorm",
    "SkipLayerNorm_AddBias",
    "Gelu_AddBias",
    "FastGelu_AddBias",
    "MatMul_QKV",
    "GroupNorm",
    "FullyConnect_MatMul",
    "FullyConnect_Add",
    "Reshape_Fuse",
    "MaskReduceSum",
};

constexpr std::string_view kFusedOps[] = {
    "Attention",
    "MultiHeadAttention",
    "GroupQueryAttention",
    "FastGelu",
    "BiasGelu",
    "SkipLayerNormalization",
    "QuickGelu",
    "EmbedLayerNormalization",
    "RotaryEmbedding",
    "FusedMatMul",
    "FusedConv",
    "SkipSimplifiedLayerNormalization",
};

template <std::size_t kCount>
bool Has(const std::string_view (&words)[kCount], std::string_view word) {
  for (const std::string_view known : words) {
    if (known == word) return true;
  }
  return false;
}

}  // namespace

std::string_view DialectName(Dialect dialect) {
  switch (dialect) {
    case Dialect::kUnknown:
      return "unknown";
    case Dialect::kTorchScript:
      return "torchscript";
    case Dialect::kTorchScriptOld:
      return "torchscript-old";
    case Dialect::kDynamo:
      return "dynamo";
    case Dialect::kDynamoStripped:
      return "dynamo-stripped";
    case Dialect::kDynamoFunctions:
      return "dynamo-functions";
    case Dialect::kModuleFunctions:
      return "functions";
    case Dialect::kOnnxscript:
      return "onnxscript";
    case Dialect::kGenai:
      return "genai";
    case Dialect::kTf2onnx:
      return "tf2onnx";
    case Dialect::kPaddle:
      return "paddle";
    case Dialect::kOnnxRuntime:
      return "onnxruntime";
  }
  return "unknown";
}

Dialect NodeNameDialect(std::string_view name, std::string_view op_type) {
  if (name.empty()) return Dialect::kUnknown;
  if (name[0] == '/') {
    return name.find("/constant_nodes/") != std::string_view::npos
               ? Dialect::kGenai
               : Dialect::kTorchScript;
  }
  if (name.starts_with("node_") || IsInlinedNode(name)) {
    return Dialect::kDynamo;
  }
  if (name.starts_with("gemm_input_reshape") ||
      name.starts_with("gemm_output_reshape")) {
    return Dialect::kOnnxRuntime;
  }
  if (SplitOnnxscriptNode(name).ok) return Dialect::kOnnxscript;
  // tf2onnx counts ops (`MatMul__283`), onnx's inliner calls (`Add_112__10`).
  if (const auto counted = WithoutNumbered(name, "__")) {
    if (*counted == op_type) return Dialect::kTf2onnx;
    name = *counted;
  }
  if (name.find('/') != std::string_view::npos) return Dialect::kTf2onnx;
  if (IsPaddle(name, op_type)) return Dialect::kPaddle;
  const std::string_view bare = WithoutNumbered(name, "_").value_or(name);
  if (Has(kFusedNames, bare) || Has(kFusedOps, bare)) {
    return Dialect::kOnnxRuntime;
  }
  if (bare == op_type && bare.size() != name.size()) {
    return Dialect::kTorchScriptOld;
  }
  // ONNX Runtime calls what it fused by the op alone.
  return name == op_type ? Dialect::kOnnxRuntime : Dialect::kUnknown;
}

Dialect ValueNameDialect(std::string_view name) {
  if (name.empty()) return Dialect::kUnknown;
  if (name[0] == '/') {
    if (WithoutNumbered(name, "/output_")) return Dialect::kGenai;
    if (name.find("/constants/") != std::string_view::npos) {
      return Dialect::kGenai;
    }
    return WithoutNumbered(name, "_output_") ? Dialect::kTorchScript
                                             : Dialect::kUnknown;
  }
  if (name.starts_with("onnx::")) return Dialect::kTorchScriptOld;
  if (const auto value = WithoutNumbered(name, "_"); value && *value == "val") {
    return Dialect::kDynamo;
  }
  if (SplitOnnxscriptValue(name).ok) return Dialect::kOnnxscript;
  if (WithoutNumbered(name, ":")) return Dialect::kTf2onnx;
  return Dialect::kUnknown;
}

}  // namespace onnx_tag::hierarchy
