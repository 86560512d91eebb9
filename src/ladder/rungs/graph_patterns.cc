#include "ladder/rungs/graph_patterns.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace onnx_tag {
namespace {

template <std::size_t kCount>
bool OneOf(std::string_view op,
           const std::array<std::string_view, kCount>& ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool IsConstant(const Evidence& evidence, ValueId value) {
  return evidence.graph.data.IsConstant(value);
}

// The only input that is not constant, or kNo.
ValueId DataInput(const Evidence& evidence, NodeId node) {
  ValueId data = kNo<ValueId>;
  for (const ValueId input : evidence.model.Inputs(node)) {
    if (input == kNo<ValueId> || IsConstant(evidence, input)) continue;
    if (data != kNo<ValueId>) return kNo<ValueId>;
    data = input;
  }
  return data;
}

}  // namespace

NodeId MatMulBefore(const Evidence& evidence, NodeId add) {
  constexpr std::array<std::string_view, 4> kBetween = {
      "Cast", "Reshape", "DequantizeLinear", "QuantizeLinear"};
  constexpr std::array<std::string_view, 6> kMatMuls = {
      "MatMul",        "Gemm",          "MatMulNBits",
      "MatMulInteger", "QLinearMatMul", "MatMulIntegerToFloat"};
  const Model& model = evidence.model;
  NodeId at = ProducerOf(model, DataInput(evidence, add));
  for (int steps = 0; at != kNo<NodeId> && steps < 4; ++steps) {
    const std::string_view op = model.OpType(at);
    if (OneOf(op, kMatMuls)) {
      const auto inputs = model.Inputs(at);
      const bool weight = std::any_of(
          inputs.begin(), inputs.end(),
          [&](ValueId input) { return IsConstant(evidence, input); });
      return weight && OnlyConsumer(model, at) != kNo<NodeId> ? at
                                                              : kNo<NodeId>;
    }
    if (!OneOf(op, kBetween)) break;
    at = ProducerOf(model, DataInput(evidence, at));
  }
  return kNo<NodeId>;
}

QuantizedParts PartsOfQuantized(const Evidence& evidence, NodeId product) {
  const QuantizedProduct parts =
      FindQuantizedProduct(evidence.graph.links, product);
  return {product, parts.scales, parts.bias, parts.cast, parts.scaled};
}

bool IsPlainParameter(std::string_view name) {
  constexpr std::array<std::string_view, 5> kPlain = {
      "weight", "bias", "running_mean", "running_var", "weight_bias"};
  return OneOf(name.substr(name.rfind('.') + 1), kPlain);
}

bool IsProduct(std::string_view op) {
  constexpr std::array<std::string_view, 18> kProducts = {
      "MatMul",        "Gemm",
      "Conv",          "ConvTranspose",
      "MatMulInteger", "ConvInteger",
      "QLinearMatMul", "QLinearConv",
      "MatMulNBits",   "MatMulIntegerToFloat",
      "FusedMatMul",   "FusedGemm",
      "FusedConv",     "DynamicQuantizeMatMul",
      "LSTM",          "GRU",
      "RNN",           "DynamicQuantizeLSTM"};
  return OneOf(op, kProducts);
}

bool IsPool(std::string_view op) {
  return op == "MaxPool" || op == "AveragePool";
}

bool HasHiddenWeight(const Evidence& evidence, NodeId node) {
  const Model& model = evidence.model;
  if (!IsProduct(model.OpType(node))) return false;
  for (const ValueId input : model.Inputs(node)) {
    if (evidence.graph.data.IsConstant(input)) {
      return true;
    }
  }
  return false;
}

}  // namespace onnx_tag
