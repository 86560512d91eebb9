// Properties of operators that a transfer uses.
#ifndef ONNX_TAG_TRANSFER_OPERATORS_H_
#define ONNX_TAG_TRANSFER_OPERATORS_H_

#include <string_view>

namespace onnx_tag::transfer {

// The order of its two inputs does not matter.
bool IsCommutative(std::string_view op);

// Returns its first input in another form. Tools insert and remove such nodes.
bool IsPassThrough(std::string_view op);

// Returns its first input as another type. Tools put such nodes between two
// nodes, and nothing else about them changes.
bool IsConversion(std::string_view op);

// All inputs except the first are settings: a shape, axes, bounds.
bool TakesSettings(std::string_view op);

// Only quantizers write this operator.
bool IsQuantizer(std::string_view op);

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_OPERATORS_H_
