// Converts enumerators to and from their names in files and options.
#ifndef ONNX_TAG_CORE_TAGGING_WORDS_H_
#define ONNX_TAG_CORE_TAGGING_WORDS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace onnx_tag {

template <typename Enum, std::size_t kCount>
std::optional<Enum> WordToEnum(
    const std::array<std::string_view, kCount>& words, std::string_view word) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <typename Enum, std::size_t kCount>
std::string_view EnumToWord(const std::array<std::string_view, kCount>& words,
                            Enum value) {
  return words[static_cast<std::size_t>(value)];
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_WORDS_H_
