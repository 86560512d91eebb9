#include "transfer/operators.h"

#include <algorithm>
#include <array>

namespace onnx_tag::transfer {
namespace {

template <std::size_t kCount>
bool Has(const std::array<std::string_view, kCount>& words,
         std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool IsCommutative(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kOps = {
      "Add", "Mul", "And", "Or", "Xor", "Equal", "Max", "Min", "Sum"};
  return Has(kOps, op);
}

bool IsPassThrough(std::string_view op) {
  static constexpr std::array<std::string_view, 17> kOps = {
      "Identity",
      "Cast",
      "CastLike",
      "Reshape",
      "Transpose",
      "Squeeze",
      "Unsqueeze",
      "Flatten",
      "Expand",
      "Dropout",
      "QuantizeLinear",
      "DequantizeLinear",
      "ReorderInput",
      "ReorderOutput",
      "MemcpyToHost",
      "MemcpyFromHost",
      "DynamicQuantizeLinear"};
  return Has(kOps, op);
}

bool IsConversion(std::string_view op) {
  static constexpr std::array<std::string_view, 5> kOps = {
      "Identity", "Cast", "CastLike", "QuantizeLinear", "DequantizeLinear"};
  return Has(kOps, op);
}

bool TakesSettings(std::string_view op) {
  static constexpr std::array<std::string_view, 14> kOps = {
      "Expand",  "Pad",    "ReduceMax", "ReduceMean", "ReduceSum",
      "Reshape", "Resize", "Slice",     "Split",      "Squeeze",
      "Tile",    "TopK",   "Trilu",     "Unsqueeze"};
  return Has(kOps, op);
}

bool IsQuantizer(std::string_view op) {
  static constexpr std::array<std::string_view, 4> kOps = {
      "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
      "QuantizeBFP"};
  return Has(kOps, op);
}

}  // namespace onnx_tag::transfer
