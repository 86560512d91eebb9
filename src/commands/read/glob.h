// Patterns over module paths, `encoder.layer.*.attention.**`, and over names of
// files, `text/**/*.onnx`.
#ifndef ONNX_TAG_COMMANDS_READ_GLOB_H_
#define ONNX_TAG_COMMANDS_READ_GLOB_H_

#include <string_view>

#include "base/glob.h"

namespace onnx_tag {

inline bool MatchesGlob(std::string_view pattern, std::string_view path,
                        char separator = '.') {
  return MatchesPattern(pattern, path, separator);
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_GLOB_H_
