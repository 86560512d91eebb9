// Weights in Constant nodes: PaddlePaddle's files have no initializers.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

struct ConstantWeight {
  ValueId value;
  std::int32_t data_type;
  std::vector<std::int64_t> dims;
  std::uint64_t elements;
};

// The constants that are parameters: numbers with a fraction or quantized
// numbers, more than one, and no setting of an operator (a size, an axis, a
// scale of Resize). Their data are not read.
std::vector<ConstantWeight> FindConstantWeights(const Model& model);

}  // namespace onnx_tag
