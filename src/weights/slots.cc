#include "weights/slots.h"

#include <algorithm>
#include <array>

namespace onnx_tag::weights {
namespace {

struct Row {
  std::string_view op;
  std::array<Kind, 12> slots;
};

constexpr Kind kNo = Kind::kNone;
constexpr Kind kWeight = Kind::kWeight;
constexpr Kind kBias = Kind::kBias;
constexpr Kind kScale = Kind::kScale;
constexpr Kind kZero = Kind::kZeroPoint;
constexpr Kind kQuant = Kind::kQuantized;
constexpr Kind kInScale = Kind::kActivationScale;
constexpr Kind kInZero = Kind::kActivationZeroPoint;

// Sorted by name.
constexpr Row kRows[] = {
    {"BatchNormalization", {kNo, kWeight, kBias, Kind::kMean, Kind::kVariance}},
    {"Conv", {kNo, kWeight, kBias}},
    {"ConvInteger", {kNo, kQuant, kInZero, kZero}},
    {"ConvTranspose", {kNo, kWeight, kBias}},
    {"DequantizeLinear", {kQuant, kScale, kZero}},
    {"GRU", {kNo, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias}},
    {"Gather", {kWeight}},
    {"Gemm", {kNo, kWeight, kBias}},
    {"GroupNormalization", {kNo, kWeight, kBias}},
    {"InstanceNormalization", {kNo, kWeight, kBias}},
    {"LSTM", {kNo, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias}},
    {"LayerNormalization", {kNo, kWeight, kBias}},
    {"MatMul", {Kind::kMatrix, Kind::kMatrix}},
    {"MatMulInteger", {kNo, kQuant, kInZero, kZero}},
    {"PRelu", {kNo, kWeight}},
    {"QLinearConv",
     {kNo, kInScale, kInZero, kQuant, kScale, kZero, kInScale, kInZero, kBias}},
    {"QLinearMatMul",
     {kNo, kInScale, kInZero, kQuant, kScale, kZero, kInScale, kInZero}},
    {"QuantizeLinear", {kNo, kInScale, kInZero}},
    {"RMSNormalization", {kNo, kWeight}},
    {"RNN", {kNo, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias}},
};

constexpr Row kContribRows[] = {
    {"Attention", {kNo, Kind::kQkvWeight, Kind::kQkvBias}},
    {"BiasGelu", {kNo, kBias}},
    {"BiasSplitGelu", {kNo, kBias}},
    {"DynamicQuantizeLSTM",
     {kNo, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias, kNo, kNo, kNo,
      kNo, kScale, kZero, kScale, kZero}},
    {"DynamicQuantizeMatMul", {kNo, kQuant, kScale, kZero, kBias}},
    {"FastGelu", {kNo, kBias}},
    {"FusedConv", {kNo, kWeight, kBias}},
    {"FusedGemm", {kNo, kWeight, kBias}},
    {"FusedMatMul", {Kind::kMatrix, Kind::kMatrix}},
    {"GatherBlockQuantized", {kQuant, kNo, kScale, kZero}},
    {"MatMulIntegerToFloat",
     {kNo, kQuant, kInScale, kScale, kInZero, kZero, kBias}},
    {"MatMulNBits", {kNo, kQuant, kScale, kZero, kNo, kBias}},
    {"MultiHeadAttention", {kNo, kNo, kNo, Kind::kQkvBias}},
    {"QAttention",
     {kNo, Kind::kQkvWeight, Kind::kQkvBias, kInScale, kScale, kNo, kInZero,
      kZero}},
    {"SimplifiedLayerNormalization", {kNo, kWeight}},
    {"SkipLayerNormalization", {kNo, kNo, kWeight, kBias}},
    {"SkipSimplifiedLayerNormalization", {kNo, kNo, kWeight}},
};

template <std::size_t N>
constexpr bool IsSorted(const Row (&rows)[N]) {
  for (std::size_t i = 1; i < N; ++i) {
    if (!(rows[i - 1].op < rows[i].op)) return false;
  }
  return true;
}
static_assert(IsSorted(kRows) && IsSorted(kContribRows));

template <std::size_t N>
Kind Find(const Row (&rows)[N], std::string_view op, std::uint32_t slot) {
  const Row* const at = std::lower_bound(
      std::begin(rows), std::end(rows), op,
      [](const Row& row, std::string_view name) { return row.op < name; });
  return at != std::end(rows) && at->op == op && slot < at->slots.size()
             ? at->slots[slot]
             : Kind::kNone;
}

}  // namespace

Kind KindOf(std::string_view domain, std::string_view op, std::uint32_t slot) {
  if (domain.empty()) {
    const Kind kind = Find(kRows, op, slot);
    // ONNX Runtime writes its own operators into the default domain, too.
    return kind != Kind::kNone || op == "Attention"
               ? kind
               : Find(kContribRows, op, slot);
  }
  return domain == "com.microsoft" ? Find(kContribRows, op, slot) : Kind::kNone;
}

}  // namespace onnx_tag::weights
