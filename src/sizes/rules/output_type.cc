#include <string_view>
#include <unordered_map>

#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

// Where the element type of the first output comes from.
enum class From {
  kInput0,
  kInput1,
  kInput2,
  kInput7,
  kUint8,
  kInt32,
  kInt64,
  kBool,
  kAttribute,  // `to`
};

// Operators that are not here give the type of their first input.
From TypeSource(std::string_view op) {
  static const std::unordered_map<std::string_view, From> kSources = {
      {"And", From::kBool},
      {"ArgMax", From::kInt64},
      {"ArgMin", From::kInt64},
      {"Cast", From::kAttribute},
      {"CastLike", From::kInput1},
      {"ConvInteger", From::kInt32},
      {"DequantizeLinear", From::kInput1},
      {"DynamicQuantizeLinear", From::kUint8},
      {"Equal", From::kBool},
      {"Greater", From::kBool},
      {"GreaterOrEqual", From::kBool},
      {"IsInf", From::kBool},
      {"IsNaN", From::kBool},
      {"Less", From::kBool},
      {"LessOrEqual", From::kBool},
      {"MatMulInteger", From::kInt32},
      {"MatMulIntegerToFloat", From::kInput2},
      {"NonMaxSuppression", From::kInt64},
      {"NonZero", From::kInt64},
      {"Not", From::kBool},
      {"OneHot", From::kInput2},
      {"Or", From::kBool},
      {"QAttention", From::kInput2},
      {"QLinearConv", From::kInput7},
      {"QLinearMatMul", From::kInput7},
      {"QuantizeLinear", From::kInput2},
      {"Shape", From::kInt64},
      {"Size", From::kInt64},
      {"Where", From::kInput1},
      {"Xor", From::kBool}};
  const auto found = kSources.find(op);
  return found == kSources.end() ? From::kInput0 : found->second;
}

std::int32_t FirstType(const NodeView& node) {
  switch (TypeSource(node.op())) {
    case From::kInput0:
      return node.InputType(0);
    case From::kInput1:
      return node.InputType(1);
    case From::kInput2:
      // Without a zero point the result is what `output_dtype` says, or uint8.
      if (node.op() == "QuantizeLinear" && !node.Has(2)) {
        return static_cast<std::int32_t>(
            node.attributes().Int("output_dtype", kUint8));
      }
      return node.InputType(2);
    case From::kInput7:
      return node.InputType(7);
    case From::kUint8:
      return kUint8;
    case From::kInt32:
      return kInt32;
    case From::kInt64:
      return kInt64;
    case From::kBool:
      return kBool;
    case From::kAttribute:
      return static_cast<std::int32_t>(node.attributes().Int("to", 0));
  }
  return kUndefined;
}

}  // namespace

std::int32_t OutputType(const NodeView& node, std::size_t slot) {
  if (slot == 0) return FirstType(node);
  const std::string_view op = node.op();
  if (op == "TopK" || op == "MaxPool") return kInt64;
  if (op == "Dropout") return kBool;
  if (op == "DynamicQuantizeLinear") return slot == 1 ? kFloat : kUint8;
  const bool same = op == "Split" || op == "LSTM" || op == "GRU" ||
                    op == "RNN" || op == "MultiHeadAttention" ||
                    op == "GroupQueryAttention" ||
                    (op.starts_with("Skip") && slot == 3);
  return same ? node.InputType(0) : kUndefined;
}

}  // namespace onnx_tag::sizes
