// Whether the weights of a file and of a recorded model have the same shapes.
#ifndef ONNX_TAG_EVIDENCE_WEIGHT_SHAPES_H_
#define ONNX_TAG_EVIDENCE_WEIGHT_SHAPES_H_

#include <cstddef>

#include "hierarchy/module_map.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

struct ShapeMatch {
  std::size_t file = 0;   // weights of the file with two dimensions or more
  std::size_t map = 0;    // the same of the map
  std::size_t equal = 0;  // pairs of the same shape, in any order of axes

  // Of a model and its own recording, half of one of the two at least have
  // partners, in 23 forms of 12 models; of a model and another's recording,
  // 38 % at most. If too few can be compared, nothing is said.
  bool IsForeign() const {
    constexpr std::size_t kFewest = 4;
    return file >= kFewest && map >= kFewest && 5 * equal < 2 * file &&
           5 * equal < 2 * map;
  }
};

// Packed weights (four bits) are not compared; if they are more than the
// others, nothing is.
ShapeMatch MatchShapes(const Model& model, const ModuleMap& map);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_WEIGHT_SHAPES_H_
