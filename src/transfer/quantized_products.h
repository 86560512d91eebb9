// Products that a quantizer wrote as several nodes: the input is quantized,
// multiplied as integers, cast and scaled back, and the bias is added.
#ifndef ONNX_TAG_TRANSFER_QUANTIZED_PRODUCTS_H_
#define ONNX_TAG_TRANSFER_QUANTIZED_PRODUCTS_H_

#include <string_view>
#include <vector>

#include "transfer/outline.h"

namespace onnx_tag::transfer {

struct QuantizedProduct {
  NodeId product;             // MatMulInteger or ConvInteger
  NodeId result;              // the Mul that scales back
  NodeId bias = kNo<NodeId>;  // the Add of the bias; kNo if there is none
  ValueId data;               // before it was quantized
  ValueId weight;
  std::vector<NodeId> helpers;  // the quantizer, the Cast, the Mul of scales

  // Whether a node with this operator can be the product before quantization.
  bool WasOperator(std::string_view op) const {
    return convolution ? op == "Conv" : op == "MatMul" || op == "Gemm";
  }
  bool convolution = false;
};

std::vector<QuantizedProduct> FindQuantizedProducts(const Outline& outline,
                                                    const Texts& texts);

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_QUANTIZED_PRODUCTS_H_
