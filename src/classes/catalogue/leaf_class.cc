#include "classes/catalogue/leaf_class.h"

#include <array>

#include "graph/recurrent.h"

namespace onnx_tag::catalogue {
namespace {

struct Guess {
  LeafKind kind;
  std::string_view name;
  int rank;  // of its weight; 0: it has no parameter
  Confidence confidence;
};

// The first guess that fits is used.
constexpr std::array<Guess, 25> kGuesses = {{
    {LeafKind::kLinear, "Linear", 2, Confidence::kHigh},
    {LeafKind::kConvTranspose, "ConvTranspose1d", 3, Confidence::kHigh},
    {LeafKind::kConvTranspose, "ConvTranspose2d", 4, Confidence::kHigh},
    {LeafKind::kConvTranspose, "ConvTranspose3d", 5, Confidence::kHigh},
    {LeafKind::kConv, "Conv1d", 3, Confidence::kHigh},
    {LeafKind::kConv, "Conv2d", 4, Confidence::kHigh},
    {LeafKind::kConv, "Conv3d", 5, Confidence::kHigh},
    {LeafKind::kEmbedding, "Embedding", 2, Confidence::kHigh},
    {LeafKind::kLayerNorm, "LayerNorm", 1, Confidence::kHigh},
    {LeafKind::kBatchNorm, "BatchNorm2d", 1, Confidence::kMedium},
    {LeafKind::kGroupNorm, "GroupNorm", 1, Confidence::kMedium},
    {LeafKind::kRelu6, "ReLU6", 0, Confidence::kMedium},
    {LeafKind::kRelu, "ReLU", 0, Confidence::kHigh},
    {LeafKind::kLeakyRelu, "LeakyReLU", 0, Confidence::kHigh},
    {LeafKind::kElu, "ELU", 0, Confidence::kMedium},
    {LeafKind::kGelu, "GELU", 0, Confidence::kMedium},
    {LeafKind::kTanh, "Tanh", 0, Confidence::kMedium},
    {LeafKind::kSigmoid, "Sigmoid", 0, Confidence::kMedium},
    {LeafKind::kSilu, "SiLU", 0, Confidence::kMedium},
    {LeafKind::kHardSigmoid, "Hardsigmoid", 0, Confidence::kMedium},
    {LeafKind::kHardSwish, "Hardswish", 0, Confidence::kMedium},
    {LeafKind::kSoftmax, "Softmax", 0, Confidence::kMedium},
    {LeafKind::kMaxPool, "MaxPool2d", 0, Confidence::kMedium},
    {LeafKind::kAveragePool, "AvgPool2d", 0, Confidence::kMedium},
    {LeafKind::kResize, "Upsample", 0, Confidence::kMedium},
}};

}  // namespace

ClassAnswer GuessLeafClass(const SeenModule& module) {
  int weight_rank = static_cast<int>(module.weight_rank);
  bool others = false;
  bool recurrent = false;
  for (const SeenParameter& parameter : module.parameters) {
    if (parameter.name == "weight") {
      weight_rank = static_cast<int>(parameter.rank);
    } else if (RecurrentKind(parameter.name) == Recurrent::kLayer) {
      recurrent = true;
    } else if (parameter.name != "bias" && parameter.name != "running_mean" &&
               parameter.name != "running_var") {
      others = true;
    }
  }
  for (const auto& [kind, name] :
       {std::pair(LeafKind::kLstm, "LSTM"), std::pair(LeafKind::kGru, "GRU"),
        std::pair(LeafKind::kRnn, "RNN")}) {
    if (Fit(kind, module.operators, false) > 0) {
      return {name, Confidence::kHigh, {}};
    }
  }
  if (others || recurrent) return {};
  const bool bare = module.parameters.empty();
  for (const Guess& guess : kGuesses) {
    if (Fit(guess.kind, module.operators, false) <= 0) continue;
    if (guess.rank == 0 ? bare : weight_rank == guess.rank) {
      return {guess.name, guess.confidence, {}};
    }
    // After TorchScript, a Linear has only its bias, or only its product.
    if (guess.kind == LeafKind::kLinear && weight_rank == 0) {
      return {guess.name, bare ? Confidence::kLow : Confidence::kMedium, {}};
    }
  }
  return {};
}

}  // namespace onnx_tag::catalogue
