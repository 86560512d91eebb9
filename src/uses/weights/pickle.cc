#include "onnx_tag/error.h"
#include "uses/weights/checkpoint.h"

namespace onnx_tag::weights {

std::vector<CheckpointTensor> ReadTorchTensors(Bytes) {
  Fail(ErrorKind::kUsage, "not a .safetensors file");
}

}  // namespace onnx_tag::weights
