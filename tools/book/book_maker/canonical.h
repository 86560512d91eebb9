// Recipes that say the same, made equal.
#pragma once

#include "clues/recipes/book/recipe.h"

namespace onnx_tag::recipes {

// The recipe with its texts, modules and side nodes in an order that does
// not depend on how it was made: two recipes with the same tokens, inputs,
// paths, classes and side nodes become the same.
Recipe Canonical(const Recipe& recipe);

}  // namespace onnx_tag::recipes
