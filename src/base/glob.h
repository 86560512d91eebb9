// Patterns over names that have parts: `encoder.layer.*.attention.**`.
#ifndef ONNX_TAG_BASE_GLOB_H_
#define ONNX_TAG_BASE_GLOB_H_

#include <string_view>

namespace onnx_tag {

// `*` stands for any characters but `separator`, `**` for any, `?` for one that
// is no separator; anything else for itself. Takes time in the product of both
// lengths at worst, and in their sum for most.
bool MatchesPattern(std::string_view pattern, std::string_view text,
                    char separator);

// Whether `pattern` has a character that does not stand for itself.
inline bool HasWildcards(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_GLOB_H_
