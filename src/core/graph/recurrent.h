// Recognises parameters of torch.nn's recurrent modules by their names.
#pragma once

#include <string_view>

namespace onnx_tag {

enum class Recurrent {
  kNone,
  kCell,   // RNNCell, GRUCell, LSTMCell: `weight_hh`
  kLayer,  // RNN, GRU, LSTM, with the layer in the name: `weight_hh_l0`
};

// Uses the last atom of a parameter's name.
inline Recurrent RecurrentKind(std::string_view parameter) {
  const std::string_view atom = parameter.substr(parameter.rfind('.') + 1);
  for (const std::string_view start :
       {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
    if (!atom.starts_with(start)) continue;
    return atom.substr(start.size()).starts_with("_l") ? Recurrent::kLayer
                                                       : Recurrent::kCell;
  }
  return Recurrent::kNone;
}

}  // namespace onnx_tag
