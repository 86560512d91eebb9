// Includes the tables of the book in the program.
#include "recipes/book/packed_book.h"

asm(".section .rodata\n"
    ".balign 8\n"
    ".global onnx_tag_recipes_begin\n"
    "onnx_tag_recipes_begin:\n"
    ".incbin \"" ONNX_TAG_RECIPES_TABLE
    "\"\n"
    ".global onnx_tag_recipes_end\n"
    "onnx_tag_recipes_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char onnx_tag_recipes_begin[];
extern const char onnx_tag_recipes_end[];
}

namespace onnx_tag::recipes {

const PackedBook& BuiltInBook() {
  static const PackedBook book(std::string_view(
      onnx_tag_recipes_begin,
      static_cast<std::size_t>(onnx_tag_recipes_end - onnx_tag_recipes_begin)));
  return book;
}

}  // namespace onnx_tag::recipes
