// What torch.export noted of a Keras model: its variables, by layer.
//
// Keras' layers are no torch modules and their weights are lifted constants,
// but the graph's signature still lists the variables, in alphabetical order,
// and the constants, in the order of their first use.
#ifndef ONNX_TAG_CLUES_EXPORTERS_KERAS_KERAS_SIGNATURE_H_
#define ONNX_TAG_CLUES_EXPORTERS_KERAS_KERAS_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag {

struct KerasLayer {
  std::string path;                         // "head.dense_1"
  std::vector<std::string_view> variables;  // "kernel", "gru_cell/kernel"
};

struct KerasSignature {
  std::vector<KerasLayer> layers;  // as layers are numbered: dense_2, dense_10
  std::size_t variables = 0;
  std::size_t constants = 0;
};

// `text` is the entry `pkg.torch.export.ExportedProgram.graph_signature`. No
// layers: not Keras'.
KerasSignature ParseKerasSignature(std::string_view text);

// How a lifted constant is used, as far as the file tells.
struct LiftedUse {
  int rank = -1;  // -1: folded into something else
  bool in_conv = false;
  std::int64_t widths = 0;  // of a matrix: columns by rows; 0: no whole number
};

// The layer of each constant, by index in `signature.layers`; empty if they
// cannot be matched. `unsure[i]`: another layer has the same variables.
struct LiftedOwners {
  std::vector<std::size_t> layer;
  std::vector<bool> unsure;
};
LiftedOwners MatchLifted(const KerasSignature& signature,
                         const std::vector<LiftedUse>& uses);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLUES_EXPORTERS_KERAS_KERAS_SIGNATURE_H_
