// Patterns over names that have parts: `encoder.layer.*.attention.**`.
#pragma once

#include <string_view>
#include <vector>

namespace onnx_tag {

// `*` matches any characters but `separators`, `**` any, `?` one that is no
// separator; anything else matches itself. Takes time in the product of both
// lengths at worst, and in their sum for most. On a match, what each `*` and
// `**` matched is added to `captures`: the first matches as little as it can,
// then the second, and so on.
bool MatchesPattern(std::string_view pattern, std::string_view text,
                    std::string_view separators,
                    std::vector<std::string_view>* captures = nullptr);

inline bool MatchesPattern(std::string_view pattern, std::string_view text,
                           char separator) {
  return MatchesPattern(pattern, text, std::string_view(&separator, 1));
}

// Whether `pattern` has a wildcard.
inline bool HasWildcards(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

}  // namespace onnx_tag
