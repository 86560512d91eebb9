// The rules of shape inference: what a node gives, by its kind of operator.
#ifndef ONNX_TAG_SIZES_RULES_RULES_H_
#define ONNX_TAG_SIZES_RULES_RULES_H_

#include "sizes/rules/node_view.h"

namespace onnx_tag::sizes {

using Rule = Inferred (*)(const NodeView&);

// elementwise.cc: operators that work element by element, and reductions.
Inferred SameAsFirst(const NodeView& node);
Inferred BroadcastAll(const NodeView& node);
Inferred SameAsSecond(const NodeView& node);
Inferred Reducing(const NodeView& node);

// products.cc: matrix products, attention and recurrent layers.
Inferred Product(const NodeView& node);
Inferred GemmProduct(const NodeView& node);
Inferred BlockProduct(const NodeView& node);
Inferred EinsumProduct(const NodeView& node);
Inferred Attending(const NodeView& node);
Inferred PackedAttention(const NodeView& node);
Inferred Recurrent(const NodeView& node);

// windows.cc: operators that move a window over an image: convolutions and
// pooling, and those that scale images.
Inferred Convolution(const NodeView& node);
Inferred TransposedConvolution(const NodeView& node);
Inferred Pooling(const NodeView& node);
Inferred GlobalPooling(const NodeView& node);
Inferred Resizing(const NodeView& node);
Inferred DepthToSpace(const NodeView& node);
Inferred GridSampling(const NodeView& node);

// moving.cc: operators that only move elements.
Inferred Reshaping(const NodeView& node);
Inferred Transposing(const NodeView& node);
Inferred Flattening(const NodeView& node);
Inferred Squeezing(const NodeView& node);
Inferred Unsqueezing(const NodeView& node);
Inferred Concatenating(const NodeView& node);
Inferred Splitting(const NodeView& node);
Inferred Slicing(const NodeView& node);
Inferred Gathering(const NodeView& node);
Inferred Expanding(const NodeView& node);
Inferred Tiling(const NodeView& node);
Inferred Padding(const NodeView& node);
Inferred TopValues(const NodeView& node);
Inferred OneHotting(const NodeView& node);

// constants.cc: operators that give constants and sizes.
Inferred ShapeOf(const NodeView& node);
Inferred SizeOf(const NodeView& node);
Inferred ConstantValue(const NodeView& node);
Inferred FilledShape(const NodeView& node);
Inferred RangeOf(const NodeView& node);
Inferred FoundPlaces(const NodeView& node);

// output_type.cc: the element type of an output; 0: unknown.
std::int32_t OutputType(const NodeView& node, std::size_t slot);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_RULES_RULES_H_
