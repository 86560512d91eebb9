#include "clues/recipes/book/label_weight.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/text.h"

namespace onnx_tag::recipes {

Weight LabelWeight(std::string_view label) {
  const std::string_view op = label.substr(0, label.find(':'));
  if (label == "Gather:cd" || IsOneOf(op, {"LIN",
                                           "CONV",
                                           "LN",
                                           "RMS",
                                           "SOFTMAX",
                                           "MatMul",
                                           "GELU",
                                           "SILU",
                                           "QGELU",
                                           "BN",
                                           "ATTN",
                                           "Einsum",
                                           "LSTM",
                                           "GRU",
                                           "RNN",
                                           "Relu",
                                           "Tanh",
                                           "Sigmoid",
                                           "Erf",
                                           "TopK",
                                           "MaxPool",
                                           "GlobalAveragePool",
                                           "ConvTranspose",
                                           "AveragePool",
                                           "InstanceNormalization",
                                           "GroupNormalization"})) {
    return Weight::kHeavy;
  }
  if (label == "Gather:dc" ||
      IsOneOf(op, {"Reshape", "Transpose", "Cast", "Identity", "Squeeze",
                   "Unsqueeze", "Slice", "Expand", "Flatten", "Split",
                   "Dropout", "Concat", "SplitToSequence", "SequenceAt"})) {
    return Weight::kLight;
  }
  return Weight::kMiddle;
}

bool IsSolid(std::string_view label) {
  return IsOneOf(label, {"LIN", "CONV", "MatMul", "LN", "RMS", "BN",
                         "ConvTranspose", "ATTN"});
}

std::uint32_t SoftClasses(std::string_view label) {
  static constexpr std::array<std::array<std::string_view, 5>, 10> kClasses = {{
      {"Reshape", "Flatten", "Squeeze", "Unsqueeze"},
      {"Mul:dc", "Div:dc"},
      {"Slice", "Split", "Gather:dc"},
      {"Where", "Add:dd", "Mul:dd"},
      {"GELU", "QGELU", "Tanh", "Relu", "SILU"},
      {"LN", "RMS"},
      {"GlobalAveragePool", "AveragePool", "ReduceMean"},
      {"Gather:cd", "Gather:dd"},
      {"Mul:dc", "Mul:dd"},
      {"Sub:dc", "Add:dc"},
  }};
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    if (std::find(kClasses[i].begin(), kClasses[i].end(), label) !=
        kClasses[i].end()) {
      bits |= std::uint32_t{1} << i;
    }
  }
  return bits;
}

}  // namespace onnx_tag::recipes
