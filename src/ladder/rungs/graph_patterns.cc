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
  return value != kNo<ValueId> && evidence.constant_value[Index(value)];
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

namespace {

// Follows arithmetic backwards from `last`, at most `depth` steps, not past
// `stop`. Returns each node once, in no particular order.
std::vector<NodeId> ArithmeticBefore(const Evidence& evidence, NodeId last,
                                     std::span<const ValueId> stop) {
  constexpr std::array<std::string_view, 11> kParts = {
      "Mul", "Div",        "Sub",  "Add",        "Sqrt",    "Pow",
      "Max", "Reciprocal", "Cast", "ReduceMean", "Identity"};
  constexpr std::size_t kMaxNodes = 24;
  const Model& model = evidence.model;
  std::vector<NodeId> nodes = {last};
  for (std::size_t i = 0; i < nodes.size() && nodes.size() < kMaxNodes; ++i) {
    for (const ValueId input : model.Inputs(nodes[i])) {
      const NodeId producer = ProducerOf(model, input);
      if (producer == kNo<NodeId> || IsConstant(evidence, input) ||
          model[producer].graph != model[last].graph ||
          !OneOf(model.OpType(producer), kParts) ||
          std::find(stop.begin(), stop.end(), input) != stop.end() ||
          std::find(nodes.begin(), nodes.end(), producer) != nodes.end()) {
        continue;
      }
      nodes.push_back(producer);
    }
  }
  return nodes;
}

// The input of a norm, from a ReduceMean of the input or of its square, centred
// or not.
ValueId NormInput(const Evidence& evidence, NodeId mean) {
  const Model& model = evidence.model;
  const auto inputs = model.Inputs(mean);
  if (inputs.empty()) return kNo<ValueId>;
  const NodeId square = ProducerOf(model, inputs[0]);
  if (square == kNo<NodeId> ||
      (model.OpType(square) != "Pow" && model.OpType(square) != "Mul")) {
    return inputs[0];
  }
  const ValueId squared = FirstInput(model, square);
  NodeId at = ProducerOf(model, squared);
  if (at != kNo<NodeId> && model.OpType(at) == "Cast") {
    at = ProducerOf(model, FirstInput(model, at));
  }
  if (at != kNo<NodeId> && model.OpType(at) == "Sub") {
    return FirstInput(model, at);
  }
  return squared;
}

}  // namespace

std::vector<NodeId> NormBefore(const Evidence& evidence, NodeId last) {
  const Model& model = evidence.model;
  std::vector<ValueId> inputs;
  bool has_root = false;
  for (const NodeId node : ArithmeticBefore(evidence, last, {})) {
    const std::string_view op = model.OpType(node);
    has_root |= op == "Sqrt" || op == "Pow" || op == "Reciprocal";
    if (op == "ReduceMean") inputs.push_back(NormInput(evidence, node));
  }
  if (inputs.empty() || !has_root) return {};
  std::vector<NodeId> nodes = ArithmeticBefore(evidence, last, inputs);
  // They must still contain a mean, and only the result may be used outside.
  const bool has_mean = std::any_of(
      nodes.begin(), nodes.end(),
      [&](NodeId node) { return model.OpType(node) == "ReduceMean"; });
  if (!has_mean || nodes.size() > 16) return {};
  return nodes;
}

namespace {

NodeId NextOf(const Model& model, NodeId node, std::string_view op) {
  const NodeId next = node == kNo<NodeId> ? node : OnlyConsumer(model, node);
  return next != kNo<NodeId> && model.OpType(next) == op ? next : kNo<NodeId>;
}

// The other side of a Mul or Add.
ValueId OtherInput(const Model& model, NodeId node, NodeId than) {
  for (const ValueId input : model.Inputs(node)) {
    if (input != kNo<ValueId> && model.Producer(input) != than) return input;
  }
  return kNo<ValueId>;
}

}  // namespace

QuantizedParts PartsOfQuantized(const Evidence& evidence, NodeId product) {
  const Model& model = evidence.model;
  const NodeId cast = NextOf(model, product, "Cast");
  const NodeId scaled = NextOf(model, cast, "Mul");
  NodeId scales = kNo<NodeId>;
  NodeId bias = kNo<NodeId>;
  if (scaled != kNo<NodeId>) {
    scales = ProducerOf(model, OtherInput(model, scaled, cast));
    if (scales != kNo<NodeId> && (model.OpType(scales) != "Mul" ||
                                  OnlyConsumer(model, scales) != scaled)) {
      scales = kNo<NodeId>;
    }
    bias = NextOf(model, scaled, "Add");
    if (bias != kNo<NodeId> &&
        !IsConstant(evidence, OtherInput(model, bias, scaled))) {
      bias = kNo<NodeId>;
    }
  }
  return {product, scales, bias, cast, scaled};
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
    if (input != kNo<ValueId> && evidence.constant_value[Index(input)]) {
      return true;
    }
  }
  return false;
}

}  // namespace onnx_tag
