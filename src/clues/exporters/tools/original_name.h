// Names before optimizers, converters and quantizers added to them.
//
//   UndoNodeName("/x/query/MatMul_quant_scales_mul").name  // "/x/query/MatMul"
//   UndoTensorName("a.b.weight_quantized_scale").name      // "a.b.weight"
//
// A suffix that could as well be a real attribute (`_q`, `_reshape`, `_scale`)
// goes only where the rest is clearly the name of a node or tensor.
#pragma once

#include <string_view>

namespace onnx_tag::hierarchy {

struct StrippedName {
  std::string_view name;   // a part of the name given
  bool quantizer = false;  // a quantizer made this node or tensor
  // It is the scale or zero point of the tensor that has the name: whoever
  // reads the quantized weight next reads it, too.
  bool beside_weight = false;
  bool cast = false;   // a float16 converter did
  bool fused = false;  // an optimizer made it out of others
  // `name` is a module: the parameter was replaced by packed ones
  // ("a.b.qweight", "a.b.scales"), and its own name is not to be had.
  bool module_only = false;
};

StrippedName UndoNodeName(std::string_view name);

// For values and initializers.
StrippedName UndoTensorName(std::string_view name);

}  // namespace onnx_tag::hierarchy
