// Makes a recording of one module of a recording.
#ifndef ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_
#define ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_

#include "recipes/book/recording.h"

namespace onnx_tag::recipes {

// Keeps the operations of `module` and its submodules; `module` becomes the
// root. Values that other modules compute for it become inputs.
Recording CutOut(const Recording& recording, std::uint32_t module);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_
