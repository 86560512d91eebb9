// The functions of fmt that the program calls, compiled once.
//
// Debian ships fmt as a shared library and as headers. The header-only mode in
// every file would add 5 s to the compilation of each file (g++ 12, -O3:
// field_reader.cc takes 5.9 s instead of 0.9 s), and the shared library would
// add to the start of the program. Only this file uses the header-only mode:
// it emits fmt's entry points, and all other files link to them. They are fmt's
// public interface. Other files include <fmt/core.h>; templates of
// <fmt/format.h> need more of the library than this.
#define FMT_HEADER_ONLY 1
#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace onnx_tag {

// An inline function is emitted where its address is taken.
[[gnu::used]] std::string (*const kFormat)(fmt::string_view,
                                           fmt::format_args) = &fmt::vformat;
[[gnu::used]] void (*const kPrint)(fmt::string_view,
                                   fmt::format_args) = &fmt::vprint;
[[gnu::used]] void (*const kPrintTo)(std::FILE*, fmt::string_view,
                                     fmt::format_args) = &fmt::vprint;

}  // namespace onnx_tag
