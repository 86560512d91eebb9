#include "recipes/tokens/fused.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/text.h"
#include "model/onnx_fields.h"
#include "wire/field_reader.h"

namespace onnx_tag::recipes {
namespace {

struct Attributes {
  std::string_view activation;
  float alpha = 1;
};

Attributes ReadAttributes(Bytes node) {
  Attributes found;
  wire::FieldReader reader(node);
  for (wire::Field field; reader.Next(field);) {
    if (field.number != onnx::NodeProto::kAttribute || !field.IsBytes()) {
      continue;
    }
    std::string_view name;
    std::string_view text;
    float number = 1;
    wire::FieldReader inner(field.bytes);
    for (wire::Field part; inner.Next(part);) {
      if (part.number == onnx::AttributeProto::kName && part.IsBytes()) {
        name = part.bytes;
      } else if (part.number == onnx::AttributeProto::kS && part.IsBytes()) {
        text = part.bytes;
      } else if (part.number == onnx::AttributeProto::kF &&
                 part.type == wire::WireType::kFixed32) {
        const auto bits = static_cast<std::uint32_t>(part.varint);
        std::memcpy(&number, &bits, sizeof(number));
      }
    }
    if (name == "activation") found.activation = text;
    if (name == "alpha") found.alpha = number;
  }
  return found;
}

bool IsOne(float number) { return std::abs(number - 1) < 1e-4F; }

// A product with its activation.
Fused WithActivation(std::string label, const Attributes& attributes) {
  Fused fused{{std::move(label)}, 0, Fused::Owner::kMain};
  if (attributes.activation == "HardSigmoid") {
    fused.labels.emplace_back("HSWISH");
  } else if (!attributes.activation.empty()) {
    fused.labels.emplace_back(attributes.activation);
  }
  return fused;
}

}  // namespace

Fused ReadFused(std::string_view op, Bytes node, std::size_t operands,
                bool has_weight) {
  if (op == "FusedConv" || op == "NhwcFusedConv") {
    return WithActivation("CONV", ReadAttributes(node));
  }
  if (op == "FusedGemm") return WithActivation("LIN", ReadAttributes(node));
  if (op == "FusedMatMul") {
    if (has_weight || IsOne(ReadAttributes(node).alpha)) return {};
    return {{"MatMul", "Mul:dc"}, 0, Fused::Owner::kMain};
  }
  if (op == "QuickGelu") {
    // x sigmoid(a x) with a = 1 is SiLU.
    const bool silu = IsOne(ReadAttributes(node).alpha);
    return {{silu ? "SILU" : "QGELU"}, 0, Fused::Owner::kMain};
  }
  if (op == "BiasGelu" || (op == "FastGelu" && operands > 1)) {
    return {{"GELU"}, 0, Fused::Owner::kProductBefore};
  }
  if (op == "BiasSoftmax")
    return {{"Add:dd", "SOFTMAX"}, 1, Fused::Owner::kMain};
  if (op == "SkipLayerNormalization") {
    return {{"Add:dd", "LN"}, 1, Fused::Owner::kMain};
  }
  if (op == "SkipSimplifiedLayerNormalization") {
    return {{"Add:dd", "RMS"}, 1, Fused::Owner::kMain};
  }
  if (op == "EmbedLayerNormalization") {
    return {{"Gather:cd", "Add:dd", "LN"}, 2, Fused::Owner::kNobody};
  }
  if (op == "QAttention" || (op == "Attention" && has_weight)) {
    return {{"LIN", "LIN", "LIN", "MatMul", "SOFTMAX", "MatMul"},
            4,
            Fused::Owner::kNobody};
  }
  if (IsOneOf(op, {"Attention", "MultiHeadAttention", "GroupQueryAttention",
                   "PackedMultiHeadAttention",
                   "DecoderMaskedMultiHeadAttention"})) {
    return {{"MatMul", "SOFTMAX", "MatMul"}, 1, Fused::Owner::kNobody};
  }
  return {};
}

}  // namespace onnx_tag::recipes
