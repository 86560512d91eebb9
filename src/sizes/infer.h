// The shapes and element types a node gives, from those it reads. One rule per
// kind of operator; operators without a rule give nothing.
#ifndef ONNX_TAG_SIZES_INFER_H_
#define ONNX_TAG_SIZES_INFER_H_

#include <optional>
#include <vector>

#include "onnx_tag/model.h"
#include "sizes/shapes.h"

namespace onnx_tag::sizes {

struct Inferred {
  std::vector<std::optional<Shape>> outputs;
  std::optional<Numbers> numbers = {};   // of the first output, where small
  std::vector<std::int32_t> types = {};  // by output; 0: unknown
};

Inferred Infer(const Model& model, const Shapes& shapes, NodeId node);

// The shape of two shapes together, as Add has it; nothing where they do not
// fit.
std::optional<Shape> Broadcast(const Shape& a, const Shape& b);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_INFER_H_
