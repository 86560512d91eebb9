// The sizes of an Einsum's letters.
#ifndef ONNX_TAG_SIZES_EINSUM_H_
#define ONNX_TAG_SIZES_EINSUM_H_

#include <map>
#include <string>

#include "sizes/rules/node_view.h"

namespace onnx_tag::sizes {

class EinsumSizes {
 public:
  explicit EinsumSizes(const NodeView& node);

  // False where an input is unknown or the equation is none.
  bool known() const { return known_; }
  const Shape& result() const { return result_; }
  // The product of the sizes of all letters.
  Dim volume() const { return volume_; }

 private:
  bool known_ = false;
  Shape result_;
  Dim volume_;
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_EINSUM_H_
