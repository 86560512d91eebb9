// Includes a file in the program as it is.
//
//   ONNX_TAG_EMBED(onnx_tag_recipes, "/path/of/the/file");
//   ... ONNX_TAG_EMBEDDED(onnx_tag_recipes) ...  // a std::string_view
//
// The assembler copies the bytes, so that the compiler never parses them. They
// start at a multiple of eight bytes.
#pragma once

#include <cstddef>
#include <string_view>

// WebAssembly needs a section for each file, and the type and size of symbols.
// On macOS sections have other names, and symbols of C begin with _.
#ifdef __wasm__
#define ONNX_TAG_EMBED_SECTION(symbol) ".section .rodata." #symbol ",\"\",@\n"
#define ONNX_TAG_EMBED_TYPE(name) ".type " name ",@object\n"
#define ONNX_TAG_EMBED_SIZE(name) ".size " name ", .-" name "\n"
#define ONNX_TAG_EMBED_AFTER ""
#define ONNX_TAG_EMBED_NAME(symbol) #symbol
#elif defined(__APPLE__)
#define ONNX_TAG_EMBED_SECTION(symbol) ".section __TEXT,__const\n"
#define ONNX_TAG_EMBED_TYPE(name) ""
#define ONNX_TAG_EMBED_SIZE(name) ""
#define ONNX_TAG_EMBED_AFTER ".text\n"
#define ONNX_TAG_EMBED_NAME(symbol) "_" #symbol
#else
#define ONNX_TAG_EMBED_SECTION(symbol) ".section .rodata\n"
#define ONNX_TAG_EMBED_TYPE(name) ""
#define ONNX_TAG_EMBED_SIZE(name) ""
#define ONNX_TAG_EMBED_AFTER ".text\n"
#define ONNX_TAG_EMBED_NAME(symbol) #symbol
#endif

#define ONNX_TAG_EMBED(symbol, path)                        \
  asm(ONNX_TAG_EMBED_SECTION(symbol)                      \
      ".balign 8\n"                                       \
      ".globl " ONNX_TAG_EMBED_NAME(symbol) "_begin\n"    \
      ONNX_TAG_EMBED_TYPE(#symbol "_begin")               \
      ONNX_TAG_EMBED_NAME(symbol) "_begin:\n"             \
      ".incbin \"" path "\"\n"                            \
      ONNX_TAG_EMBED_SIZE(#symbol "_begin")               \
      ".globl " ONNX_TAG_EMBED_NAME(symbol) "_end\n"      \
      ONNX_TAG_EMBED_TYPE(#symbol "_end")                 \
      ONNX_TAG_EMBED_NAME(symbol) "_end:\n"               \
      ".byte 0\n"                                         \
      ONNX_TAG_EMBED_SIZE(#symbol "_end")                 \
      ONNX_TAG_EMBED_AFTER); \
  extern "C" {                                              \
  extern const char symbol##_begin[];                       \
  extern const char symbol##_end[];                         \
  }                                                         \
  static_assert(true)

#define ONNX_TAG_EMBEDDED(symbol)  \
  std::string_view(symbol##_begin, \
                   static_cast<std::size_t>(symbol##_end - symbol##_begin))
