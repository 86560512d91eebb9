#include "weights/slots.h"

#include <algorithm>
#include <array>

namespace onnx_tag::weights {
namespace {

struct Row {
  std::string_view op;
  std::array<Kind, 12> slots;
};

constexpr Kind kNone = Kind::kNone;
constexpr Kind kWeight = Kind::kWeight;
constexpr Kind kBias = Kind::kBias;
constexpr Kind kScale = Kind::kScale;
constexpr Kind kZero = Kind::kZeroPoint;
constexpr Kind kQuant = Kind::kQuantized;
constexpr Kind kInScale = Kind::kActivationScale;
constexpr Kind kInZero = Kind::kActivationZeroPoint;

// Sorted by name.
constexpr Row kRows[] = {
    {"BatchNormalization",
     {kNone, kWeight, kBias, Kind::kMean, Kind::kVariance}},
    {"Conv", {kNone, kWeight, kBias}},
    {"ConvInteger", {kNone, kQuant, kInZero, kZero}},
    {"ConvTranspose", {kNone, kWeight, kBias}},
    {"DequantizeLinear", {kQuant, kScale, kZero}},
    {"GRU", {kNone, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias}},
    {"Gather", {kWeight}},
    {"Gemm", {kNone, kWeight, kBias}},
    {"GroupNormalization", {kNone, kWeight, kBias}},
    {"InstanceNormalization", {kNone, kWeight, kBias}},
    {"LSTM", {kNone, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias}},
    {"LayerNormalization", {kNone, kWeight, kBias}},
    {"MatMul", {Kind::kMatrix, Kind::kMatrix}},
    {"MatMulInteger", {kNone, kQuant, kInZero, kZero}},
    {"PRelu", {kNone, kWeight}},
    {"QLinearConv",
     {kNone, kInScale, kInZero, kQuant, kScale, kZero, kInScale, kInZero,
      kBias}},
    {"QLinearMatMul",
     {kNone, kInScale, kInZero, kQuant, kScale, kZero, kInScale, kInZero}},
    {"QuantizeLinear", {kNone, kInScale, kInZero}},
    {"RMSNormalization", {kNone, kWeight}},
    {"RNN", {kNone, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias}},
};

constexpr Row kContribRows[] = {
    {"Attention", {kNone, Kind::kQkvWeight, Kind::kQkvBias}},
    {"BiasGelu", {kNone, kBias}},
    {"BiasSplitGelu", {kNone, kBias}},
    {"DynamicQuantizeLSTM",
     {kNone, Kind::kGatesIn, Kind::kGatesOut, Kind::kGatesBias, kNone, kNone,
      kNone, kNone, kScale, kZero, kScale, kZero}},
    {"DynamicQuantizeMatMul", {kNone, kQuant, kScale, kZero, kBias}},
    {"FastGelu", {kNone, kBias}},
    {"FusedConv", {kNone, kWeight, kBias}},
    {"FusedGemm", {kNone, kWeight, kBias}},
    {"FusedMatMul", {Kind::kMatrix, Kind::kMatrix}},
    {"GatherBlockQuantized", {kQuant, kNone, kScale, kZero}},
    {"MatMulIntegerToFloat",
     {kNone, kQuant, kInScale, kScale, kInZero, kZero, kBias}},
    {"MatMulNBits", {kNone, kQuant, kScale, kZero, kNone, kBias}},
    {"MultiHeadAttention", {kNone, kNone, kNone, Kind::kQkvBias}},
    {"QAttention",
     {kNone, Kind::kQkvWeight, Kind::kQkvBias, kInScale, kScale, kNone, kInZero,
      kZero}},
    {"SimplifiedLayerNormalization", {kNone, kWeight}},
    {"SkipLayerNormalization", {kNone, kNone, kWeight, kBias}},
    {"SkipSimplifiedLayerNormalization", {kNone, kNone, kWeight}},
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
