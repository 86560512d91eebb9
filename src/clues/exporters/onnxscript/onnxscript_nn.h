// Names of onnxscript.nn's graph builder.
#ifndef ONNX_TAG_CLUES_EXPORTERS_ONNXSCRIPT_ONNXSCRIPT_NN_H_
#define ONNX_TAG_CLUES_EXPORTERS_ONNXSCRIPT_ONNXSCRIPT_NN_H_

#include <string_view>

#include "clues/exporters/torchscript/torchscript.h"

namespace onnx_tag::hierarchy {

// `model/layers.0/self_attn/MatMul_node_12`: the scope has slashes for dots and
// needs no collapsing.
ScopedName SplitOnnxscriptNode(std::string_view name);

// `v_model.layers.0.self_attn.MatMul_12`: the scope is a dotted path.
ScopedName SplitOnnxscriptValue(std::string_view name);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_ONNXSCRIPT_ONNXSCRIPT_NN_H_
