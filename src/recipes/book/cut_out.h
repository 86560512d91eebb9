// One module of a recording, as a recording of its own.
#ifndef ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_
#define ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_

#include "recipes/book/recording.h"

namespace onnx_tag::recipes {

// What `module` and those below it run; it becomes the root. What others
// compute for it comes from outside.
Recording CutOut(const Recording& recording, std::uint32_t module);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_
