#include "base/like_words.h"

#include "base/letters.h"
#include "base/text.h"

namespace onnx_tag {

std::vector<std::string_view> LikeWords(std::string_view text,
                                        std::span<const std::string_view> words,
                                        std::size_t most) {
  const std::string_view near = NearestWord(text, words);
  if (!near.empty()) return {near};
  std::vector<std::string_view> found;
  const std::string wanted = InSmallLetters(text);
  for (const std::string_view word : words) {
    if (wanted.empty() || found.size() == most) break;
    if (InSmallLetters(word).find(wanted) != std::string::npos) {
      found.push_back(word);
    }
  }
  return found;
}

}  // namespace onnx_tag
