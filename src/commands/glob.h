// Patterns over module paths, `encoder.layer.*.attention.**`, and over names of
// files, `text/**/*.onnx`.
#ifndef ONNX_TAG_COMMANDS_GLOB_H_
#define ONNX_TAG_COMMANDS_GLOB_H_

#include <string_view>

namespace onnx_tag {

// `*` stands for any characters but the separator, `**` for any, `?` for one
// that is no separator; anything else for itself. Takes time in the product of
// both lengths.
bool MatchesGlob(std::string_view pattern, std::string_view path,
                 char separator = '.');

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_GLOB_H_
