#include "commands/glob.h"

#include <vector>

namespace onnx_tag {

bool MatchesGlob(std::string_view pattern, std::string_view path,
                 char separator) {
  // matches[i]: what was read of the pattern stands for the first i characters.
  std::vector<char> matches(path.size() + 1, 0);
  matches[0] = 1;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '*') {
      const bool crosses = at + 1 < pattern.size() && pattern[at + 1] == '*';
      if (crosses) ++at;
      for (std::size_t i = 0; i < path.size(); ++i) {
        if (matches[i] && (crosses || path[i] != separator)) matches[i + 1] = 1;
      }
      continue;
    }
    for (std::size_t i = path.size(); i > 0; --i) {
      const bool same = pattern[at] == '?' ? path[i - 1] != separator
                                           : path[i - 1] == pattern[at];
      matches[i] = matches[i - 1] && same;
    }
    matches[0] = 0;
  }
  return matches[path.size()] != 0;
}

}  // namespace onnx_tag
