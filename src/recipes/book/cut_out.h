// Makes a recipe of one module of a recipe.
#ifndef ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_
#define ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_

#include "recipes/book/recipe.h"

namespace onnx_tag::recipes {

// Keeps the operations of `module` and its submodules; `module` becomes the
// root. Values that other modules compute for it become inputs.
Recipe CutOut(const Recipe& recipe, std::uint32_t module);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_CUT_OUT_H_
