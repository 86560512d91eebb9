// Recognises model code that is older than the recipes.
#ifndef ONNX_TAG_CLUES_RECIPES_TOKENS_LEGACY_CODE_H_
#define ONNX_TAG_CLUES_RECIPES_TOKENS_LEGACY_CODE_H_

#include "clues/recipes/tokens/data_flow.h"

namespace onnx_tag::recipes {

// Whether the activations of transformers were still functions, not modules,
// when the file was exported: before 4.17 in March 2022. Up to torch 1.9, the
// version of the exporter shows it. For torch 1.10, one of these is necessary:
// the number that masks used at that time, or an opset below 14 (newer
// attention needs 14) without a mask of a newer kind.
bool ActivationsAreFunctions(const DataFlow& flow);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_CLUES_RECIPES_TOKENS_LEGACY_CODE_H_
