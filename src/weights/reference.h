// The parameters that a model should have: names and shapes, from a file of
// weights or from a recording.
#ifndef ONNX_TAG_WEIGHTS_REFERENCE_H_
#define ONNX_TAG_WEIGHTS_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag::weights {

struct ReferenceTensor {
  std::string name;
  bool has_shape = false;
  std::vector<std::int64_t> shape;
};

// The head of a .safetensors file; the weights behind it are not read. Throws
// Error(kUsage) if it is none.
std::vector<ReferenceTensor> ReadSafetensorsHead(Bytes file);

// The parameters in a recording of the companion, or in another module map that
// lists them with their shapes.
std::vector<ReferenceTensor> ReadModuleParameters(Bytes json);

// Whether the bytes begin as a .safetensors file does.
bool IsSafetensors(Bytes file);

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_WEIGHTS_REFERENCE_H_
