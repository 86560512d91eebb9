// Patterns over module paths and file names.
#ifndef ONNX_TAG_COMMANDS_GLOB_H_
#define ONNX_TAG_COMMANDS_GLOB_H_

#include "base/glob.h"

namespace onnx_tag {

// `*` stands for any characters but dots, `**` for any, `?` for one that is no
// dot.
inline bool MatchesGlob(std::string_view pattern, std::string_view path) {
  return MatchesPattern(pattern, path, '.');
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_GLOB_H_
