// What a transfer knows of operators.
#ifndef ONNX_TAG_TRANSFER_OPERATORS_H_
#define ONNX_TAG_TRANSFER_OPERATORS_H_

#include <string_view>

namespace onnx_tag::transfer {

// The two inputs may stand in either order.
bool IsCommutative(std::string_view op);

// Hands its first input on, in another form: what tools put in and take out.
bool IsPassThrough(std::string_view op);

// All inputs but the first say how it is to be done: a shape, axes, bounds.
bool TakesSettings(std::string_view op);

// Written by quantizers alone.
bool IsQuantizer(std::string_view op);

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_OPERATORS_H_
