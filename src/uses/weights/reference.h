// The parameters that a model should have: names and shapes, from a file of
// weights or from a recording.
#ifndef ONNX_TAG_USES_WEIGHTS_REFERENCE_H_
#define ONNX_TAG_USES_WEIGHTS_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_tag/bytes.h"

namespace onnx_tag::weights {

struct ReferenceTensor {
  std::string name;
  bool has_shape = false;
  std::vector<std::int64_t> shape = {};
  // All its values are 0. Known of vectors in a file of weights.
  bool is_zero = false;
  // An earlier tensor of the file with the same bytes: tied, or equal by
  // chance; empty: there is none.
  std::string same_as = {};
};

// The tensors of a .safetensors file. Its weights are read once, to find those
// that are equal. Throws Error(kUsage) if it is none.
std::vector<ReferenceTensor> ReadSafetensors(Bytes file);

// The parameters in a recording of the companion, or in another module map that
// lists them with their shapes.
std::vector<ReferenceTensor> ReadModuleParameters(Bytes json);

// Whether the bytes begin as a .safetensors file does.
bool IsSafetensors(Bytes file);

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_USES_WEIGHTS_REFERENCE_H_
