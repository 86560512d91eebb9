// From recipes to the book.
#pragma once

#include <string_view>

#include "book_maker/book_source.h"
#include "clues/recipes/book/recipe.h"

namespace onnx_tag::recipes {

// Adds the recipe's programs, and the root that expands to it; what is
// there already is not added again. `made_by` tells people where it is from.
void Distil(const Recipe& recipe, std::string_view made_by, BookSource& book);

}  // namespace onnx_tag::recipes
