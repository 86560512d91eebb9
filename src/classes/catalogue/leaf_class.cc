#include "classes/catalogue/leaf_class.h"

#include <array>

#include "graph/recurrent.h"

namespace onnx_tag::catalogue {
namespace {

struct Guess {
  LeafKind kind;
  std::string_view name;
  int rank;  // of its weight; 0: it has no parameter
  Belief belief;
};

// The first guess that fits is used.
constexpr std::array<Guess, 25> kGuesses = {{
    {LeafKind::kLinear, "Linear", 2, Belief::kHigh},
    {LeafKind::kConvTranspose, "ConvTranspose1d", 3, Belief::kHigh},
    {LeafKind::kConvTranspose, "ConvTranspose2d", 4, Belief::kHigh},
    {LeafKind::kConvTranspose, "ConvTranspose3d", 5, Belief::kHigh},
    {LeafKind::kConv, "Conv1d", 3, Belief::kHigh},
    {LeafKind::kConv, "Conv2d", 4, Belief::kHigh},
    {LeafKind::kConv, "Conv3d", 5, Belief::kHigh},
    {LeafKind::kEmbedding, "Embedding", 2, Belief::kHigh},
    {LeafKind::kLayerNorm, "LayerNorm", 1, Belief::kHigh},
    {LeafKind::kBatchNorm, "BatchNorm2d", 1, Belief::kMedium},
    {LeafKind::kGroupNorm, "GroupNorm", 1, Belief::kMedium},
    {LeafKind::kRelu6, "ReLU6", 0, Belief::kMedium},
    {LeafKind::kRelu, "ReLU", 0, Belief::kHigh},
    {LeafKind::kLeakyRelu, "LeakyReLU", 0, Belief::kHigh},
    {LeafKind::kElu, "ELU", 0, Belief::kMedium},
    {LeafKind::kGelu, "GELU", 0, Belief::kMedium},
    {LeafKind::kTanh, "Tanh", 0, Belief::kMedium},
    {LeafKind::kSigmoid, "Sigmoid", 0, Belief::kMedium},
    {LeafKind::kSilu, "SiLU", 0, Belief::kMedium},
    {LeafKind::kHardSigmoid, "Hardsigmoid", 0, Belief::kMedium},
    {LeafKind::kHardSwish, "Hardswish", 0, Belief::kMedium},
    {LeafKind::kSoftmax, "Softmax", 0, Belief::kMedium},
    {LeafKind::kMaxPool, "MaxPool2d", 0, Belief::kMedium},
    {LeafKind::kAveragePool, "AvgPool2d", 0, Belief::kMedium},
    {LeafKind::kResize, "Upsample", 0, Belief::kMedium},
}};

}  // namespace

ClassAnswer GuessLeafClass(const SeenModule& module) {
  int weight_rank = static_cast<int>(module.weight_rank);
  bool others = false;
  for (const SeenParameter& parameter : module.parameters) {
    if (parameter.name == "weight") {
      weight_rank = static_cast<int>(parameter.rank);
    } else if (RecurrentKind(parameter.name) == Recurrent::kLayer) {
      continue;
    } else if (parameter.name != "bias" && parameter.name != "running_mean" &&
               parameter.name != "running_var") {
      others = true;
    }
  }
  for (const auto& [kind, name] :
       {std::pair(LeafKind::kLstm, "LSTM"), std::pair(LeafKind::kGru, "GRU"),
        std::pair(LeafKind::kRnn, "RNN")}) {
    if (Fit(kind, module.operators, false) > 0) {
      return {name, Belief::kHigh, {}};
    }
  }
  if (others) return {};
  const bool bare = module.parameters.empty();
  for (const Guess& guess : kGuesses) {
    if (Fit(guess.kind, module.operators, false) <= 0) continue;
    if (guess.rank == 0 ? bare : weight_rank == guess.rank) {
      return {guess.name, guess.belief, {}};
    }
    // After TorchScript, a Linear has only its bias, or only its product.
    if (guess.kind == LeafKind::kLinear && weight_rank == 0) {
      return {guess.name, bare ? Belief::kLow : Belief::kMedium, {}};
    }
  }
  return {};
}

}  // namespace onnx_tag::catalogue
