// The parameters that a model holds against those that it should hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_tag/bytes.h"
#include "uses/weights/checkpoint.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag::weights {

// The parameters in a recording of the companion, or in another module map that
// lists them: their names, and their dimensions or kAnyDims.
std::vector<Tensor> ReadModuleParameters(Bytes json);
constexpr std::int64_t kAnyDims = -1;

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

// `reference`: from a file of weights or from a recording.
CheckResult Check(const Model& model, const std::vector<Weight>& weights,
                  const std::vector<Tensor>& reference);

}  // namespace onnx_tag::weights
