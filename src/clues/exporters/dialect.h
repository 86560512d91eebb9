// Who named a node.
#ifndef ONNX_TAG_CLUES_EXPORTERS_DIALECT_H_
#define ONNX_TAG_CLUES_EXPORTERS_DIALECT_H_

#include <string_view>

namespace onnx_tag::hierarchy {

enum class Dialect {
  kUnknown,
  kTorchScript,      // `/encoder/layer.0/MatMul_3`
  kTorchScriptOld,   // `MatMul_24`: torch to 1.12, or a node without a scope
  kDynamo,           // `node_linear_3` and metadata
  kDynamoStripped,   // the same without
  kDynamoFunctions,  // torch 2.1 to 2.4: a function for each module call
  kModuleFunctions,  // export_modules_as_functions
  kOnnxscript,       // `model/layers.0/MatMul_node_12`
  kGenai,            // `/model/layers.0/attn/q_proj/MatMul`
  kTf2onnx,          // `model/dense/MatMul`, `MatMul__283`
  kPaddle,           // `Conv.0`, `p2o.Conv.0`
  kOnnxRuntime,      // `Attention_0`, `gemm_input_reshape_token_3`
};

// "torchscript", "dynamo-stripped": for reports.
std::string_view DialectName(Dialect dialect);

// Judges by one name. A scoped name may also be the genai builder's: only its
// values (`/output_0`) and constants show that. A dynamo node may have lost its
// metadata. RecognizeExporter() decides for the whole file. Names must have
// passed UndoNodeName() (clues/exporters/tools/original_name.h).
Dialect NodeNameDialect(std::string_view name, std::string_view op_type);

// The same for a value.
Dialect ValueNameDialect(std::string_view name);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_DIALECT_H_
