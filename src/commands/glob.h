// Patterns over module paths: `encoder.layer.*.attention.**`.
#ifndef ONNX_TAG_COMMANDS_GLOB_H_
#define ONNX_TAG_COMMANDS_GLOB_H_

#include <string_view>

namespace onnx_tag {

// `*` stands for any characters but dots, `**` for any, `?` for one that is no
// dot; anything else for itself. Takes time in the product of both lengths.
bool MatchesGlob(std::string_view pattern, std::string_view path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_GLOB_H_
