// Text for people: messages with names in them, suggestions, splitting.
#ifndef ONNX_TAG_BASE_TEXT_H_
#define ONNX_TAG_BASE_TEXT_H_

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace onnx_tag {

inline bool IsOneOf(std::string_view word,
                    std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// `text` with control characters and invalid UTF-8 as \xNN escapes, so that a
// name from a hostile file cannot move the cursor or forge a line. If it is
// longer than `limit` bytes, the middle is replaced by an ellipsis.
// Only Message() and what writes a whole format (text, TSV, XML) call it.
std::string Printable(std::string_view text, std::size_t limit = 1000);

// A text that this program composed, with line breaks of its own.
struct Ours {
  std::string_view text;
};

// A name that is cut after fewer bytes.
struct Short {
  std::string_view name;
  std::size_t bytes;
};

namespace message {

template <typename T>
auto Safe(const T& argument) {
  if constexpr (std::is_same_v<T, Ours>) {
    return argument.text;
  } else if constexpr (std::is_same_v<T, Short>) {
    return Printable(argument.name, argument.bytes);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Printable(argument);
  } else {
    return argument;
  }
}

template <typename... Args>
using Format =
    fmt::format_string<decltype(Safe(std::declval<const Args&>()))...>;

}  // namespace message

// A sentence that is safe to print, whatever the names in it contain:
//
//   Message("{}: no module '{}'", path, name)
//
// Every text among `args` is taken for a name and made printable. A number
// stays a number, and Ours is inserted as it is.
template <typename... Args>
std::string Message(message::Format<std::type_identity_t<Args>...> format,
                    const Args&... args) {
  return fmt::format(format, message::Safe(args)...);
}

// The word of `words` that is most similar to `text`, or "" if none is similar
// enough.
std::string_view NearestWord(std::string_view text,
                             std::span<const std::string_view> words);

// ", did you mean 'show'?", or `otherwise` if no word is similar enough.
std::string DidYouMean(std::string_view text,
                       std::span<const std::string_view> words,
                       std::string_view otherwise = "");

// "module, type, op"
template <typename Words>
std::string Join(const Words& words, std::string_view separator = ", ") {
  std::string list;
  for (const auto& word : words) {
    if (!list.empty()) list += separator;
    list += word;
  }
  return list;
}

// "1,234,567"
std::string WithThousands(std::uint64_t number);

// 23041234567 is "23.0 G", and as bytes "23.0 GB".
std::string Compact(std::uint64_t number);
std::string BytesText(std::uint64_t number);

// "3 nodes", "1 node"
std::string Count(std::uint64_t number, std::string_view noun);

// "\n  a\n  b\n  and 3 more": the list below the first line of a message.
std::string ListLines(std::span<const std::string> lines,
                      std::size_t most = 20);

// Splits at every `separator`; "" gives one empty part.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The length of the valid UTF-8 sequence at the start of `text`, or 0 if there
// is none. Overlong forms, surrogates and values past U+10FFFF are invalid.
std::size_t Utf8Length(std::string_view text);

// Code points as UTF-8.

// What is no code point becomes U+FFFD: a lone surrogate has no UTF-8 form.
void AppendUtf8(std::uint32_t code, std::string& out);

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_TEXT_H_
