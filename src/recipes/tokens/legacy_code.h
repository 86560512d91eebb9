// Marks of code that was written before the recordings'.
#ifndef ONNX_TAG_RECIPES_TOKENS_LEGACY_CODE_H_
#define ONNX_TAG_RECIPES_TOKENS_LEGACY_CODE_H_

#include "recipes/tokens/data_flow.h"

namespace onnx_tag::recipes {

// Whether the file is from a time when transformers' activations were
// functions and not modules: before 4.17, in March 2022. Up to torch 1.9 the
// exporter's version says so; with 1.10 it takes the number that masks were
// made of then, or an opset that newer code does not export to (its attention
// needs 14) and no mask of a newer kind.
bool ActivationsAreFunctions(const DataFlow& flow);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_LEGACY_CODE_H_
