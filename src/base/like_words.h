// Suggestions for a word that is not known.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace onnx_tag {

// The most similar word; if none is, the first that contain `text`, whatever
// the case of their letters.
std::vector<std::string_view> LikeWords(std::string_view text,
                                        std::span<const std::string_view> words,
                                        std::size_t most);

}  // namespace onnx_tag
