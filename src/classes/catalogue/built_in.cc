// Includes the bytes of the table with the assembler. A string literal of two
// megabytes would take seconds to compile, and some compilers refuse it.
#include "classes/catalogue/table.h"

asm(".section .rodata\n"
    ".balign 8\n"
    ".global onnx_tag_catalogue_begin\n"
    "onnx_tag_catalogue_begin:\n"
    ".incbin \"" ONNX_TAG_CATALOGUE_TABLE
    "\"\n"
    ".global onnx_tag_catalogue_end\n"
    "onnx_tag_catalogue_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char onnx_tag_catalogue_begin[];
extern const char onnx_tag_catalogue_end[];
}

namespace onnx_tag::catalogue {

const Table& BuiltIn() {
  static const Table table(
      std::string_view(onnx_tag_catalogue_begin,
                       static_cast<std::size_t>(onnx_tag_catalogue_end -
                                                onnx_tag_catalogue_begin)));
  return table;
}

}  // namespace onnx_tag::catalogue
