// The parameters that a model holds against those that it should hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_tag/bytes.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag::weights {

// A parameter that a model should have, from a file of weights or from a
// recording.
struct ReferenceTensor {
  std::string name;
  bool has_shape = false;
  std::vector<std::int64_t> shape = {};
  // All its values are 0. Known of vectors in a file of weights.
  bool is_zero = false;
  Bytes bytes = {};  // in a file of weights
};

// The tensors of a .safetensors file, with views of it. Throws Error(kUsage) if
// it is none.
std::vector<ReferenceTensor> ReadSafetensors(Bytes file);

// The parameters in a recording of the companion, or in another module map that
// lists them with their shapes.
std::vector<ReferenceTensor> ReadModuleParameters(Bytes json);

// Whether the bytes begin as a .safetensors file does.
bool IsSafetensors(Bytes file);

struct CheckResult {
  std::size_t fit = 0;
  // Of the reference: no initializer holds it, and none must: a counter of
  // training steps, normalizations that were folded into a convolution, and a
  // bias of 0 of a layer whose weight is there.
  std::size_t counters = 0;
  std::size_t folded = 0;
  std::size_t zeros = 0;
  // Of the reference: the model holds a tensor that is equal to it there.
  std::size_t equal = 0;
  // Of the reference: no initializer holds it.
  std::vector<std::string> missing;
  // Of the model: the reference has no such parameter.
  std::vector<std::string> left_over;
  struct Misfit {
    std::string name;
    std::vector<std::int64_t> expected;
    std::vector<std::int64_t> found;
  };
  std::vector<Misfit> shapes;

  bool ok() const {
    return missing.empty() && left_over.empty() && shapes.empty();
  }
};

CheckResult Check(const Model& model, const std::vector<Weight>& weights,
                  const std::vector<ReferenceTensor>& reference);

}  // namespace onnx_tag::weights
