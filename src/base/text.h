// Text for people: safe printing, suggestions, splitting.
#ifndef ONNX_TAG_BASE_TEXT_H_
#define ONNX_TAG_BASE_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag {

// `text` with control characters and invalid UTF-8 as \xNN escapes, so that a
// name from a hostile file cannot move the cursor or forge a line. If it is
// longer than `limit` bytes, the middle is replaced by an ellipsis.
std::string Printable(std::string_view text, std::size_t limit = 1000);

// The word of `words` that is most similar to `text`, or "" if none is similar
// enough.
std::string_view NearestWord(std::string_view text,
                             std::span<const std::string_view> words);

// "1,234,567"
std::string WithThousands(std::uint64_t number);

// "3 nodes", "1 node"
std::string Count(std::uint64_t number, std::string_view noun);

// Splits at every `separator`; "" gives one empty part.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The length of the valid UTF-8 sequence at the start of `text`, or 0 if there
// is none. Overlong forms, surrogates and values past U+10FFFF are invalid.
std::size_t Utf8Length(std::string_view text);

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_TEXT_H_
