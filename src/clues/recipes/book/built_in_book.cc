// Includes the tables of the book in the program.
#include "base/embed.h"
#include "clues/recipes/book/packed_book.h"

ONNX_TAG_EMBED(onnx_tag_recipes, ONNX_TAG_RECIPES_TABLE);

namespace onnx_tag::recipes {

const PackedBook& BuiltInBook() {
  static const PackedBook book(ONNX_TAG_EMBEDDED(onnx_tag_recipes));
  return book;
}

}  // namespace onnx_tag::recipes
