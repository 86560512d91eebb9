// Shapes of weights, as they can be compared with recorded ones.
#ifndef ONNX_TAG_MAPPING_EVIDENCE_WEIGHT_SHAPE_H_
#define ONNX_TAG_MAPPING_EVIDENCE_WEIGHT_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace onnx_tag {

using WeightShape = std::vector<std::int64_t>;

// Exporters transpose matrices.
inline WeightShape Sorted(std::span<const std::int64_t> dims) {
  WeightShape shape(dims.begin(), dims.end());
  std::sort(shape.begin(), shape.end());
  return shape;
}

// They drop or add axes of size 1, too.
inline WeightShape WithoutOnes(WeightShape shape) {
  std::erase(shape, 1);
  return shape;
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_EVIDENCE_WEIGHT_SHAPE_H_
