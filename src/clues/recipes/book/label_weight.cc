#include "clues/recipes/book/label_weight.h"

namespace onnx_tag::recipes {
namespace {

// Classes of labels that may replace each other.
enum Soft : std::uint32_t {
  kLayout = 1 << 0,
  kScale = 1 << 1,
  kPart = 1 << 2,
  kMask = 1 << 3,
  kActivation = 1 << 4,
  kNorm = 1 << 5,
  kMean = 1 << 6,
  kLookup = 1 << 7,
  kProduct = 1 << 8,
  kShift = 1 << 9,
};

struct Row {
  std::string_view label;
  LabelFacts facts;
};

// Labels that are not here are of middle weight.
constexpr Row kRows[] = {
    {"LIN", {Weight::kHeavy, true, 0}},
    {"CONV", {Weight::kHeavy, true, 0}},
    {"LN", {Weight::kHeavy, true, kNorm}},
    {"RMS", {Weight::kHeavy, true, kNorm}},
    {"SOFTMAX", {Weight::kHeavy, false, 0}},
    {"MatMul", {Weight::kHeavy, true, 0}},
    {"GELU", {Weight::kHeavy, false, kActivation}},
    {"SILU", {Weight::kHeavy, false, kActivation}},
    {"QGELU", {Weight::kHeavy, false, kActivation}},
    {"BN", {Weight::kHeavy, true, 0}},
    {"Einsum", {Weight::kHeavy, false, 0}},
    {"LSTM", {Weight::kHeavy, false, 0}},
    {"GRU", {Weight::kHeavy, false, 0}},
    {"RNN", {Weight::kHeavy, false, 0}},
    {"Relu", {Weight::kHeavy, false, kActivation}},
    {"Tanh", {Weight::kHeavy, false, kActivation}},
    {"Sigmoid", {Weight::kHeavy, false, 0}},
    {"Erf", {Weight::kHeavy, false, 0}},
    {"TopK", {Weight::kHeavy, false, 0}},
    {"MaxPool", {Weight::kHeavy, false, 0}},
    {"GlobalAveragePool", {Weight::kHeavy, false, kMean}},
    {"ConvTranspose", {Weight::kHeavy, true, 0}},
    {"AveragePool", {Weight::kHeavy, false, kMean}},
    {"InstanceNormalization", {Weight::kHeavy, false, 0}},
    {"GroupNormalization", {Weight::kHeavy, false, 0}},
    {"Gather:cd", {Weight::kHeavy, false, kLookup}},
    {"Reshape", {Weight::kLight, false, kLayout}},
    {"Transpose", {Weight::kLight, false, 0}},
    {"Cast", {Weight::kLight, false, 0}},
    {"Identity", {Weight::kLight, false, 0}},
    {"Squeeze", {Weight::kLight, false, kLayout}},
    {"Unsqueeze", {Weight::kLight, false, kLayout}},
    {"Slice", {Weight::kLight, false, kPart}},
    {"Expand", {Weight::kLight, false, 0}},
    {"Flatten", {Weight::kLight, false, kLayout}},
    {"Split", {Weight::kLight, false, kPart}},
    {"Dropout", {Weight::kLight, false, 0}},
    {"Concat", {Weight::kLight, false, 0}},
    {"SplitToSequence", {Weight::kLight, false, 0}},
    {"SequenceAt", {Weight::kLight, false, 0}},
    {"Gather:dc", {Weight::kLight, false, kPart}},
    {"Add:dc", {Weight::kMiddle, false, kShift}},
    {"Add:dd", {Weight::kMiddle, false, kMask}},
    {"Div:dc", {Weight::kMiddle, false, kScale}},
    {"Gather:dd", {Weight::kMiddle, false, kLookup}},
    {"Mul:dc", {Weight::kMiddle, false, kScale | kProduct}},
    {"Mul:dd", {Weight::kMiddle, false, kMask | kProduct}},
    {"ReduceMean", {Weight::kMiddle, false, kMean}},
    {"Sub:dc", {Weight::kMiddle, false, kShift}},
    {"Where", {Weight::kMiddle, false, kMask}},
};

}  // namespace

LabelFacts FactsOf(std::string_view label) {
  for (const Row& row : kRows) {
    if (row.label == label) return row.facts;
  }
  return {};
}

}  // namespace onnx_tag::recipes
