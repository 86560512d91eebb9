// Text for people: suggestions, numbers, splitting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "onnx_tag/message.h"

namespace onnx_tag {

inline bool IsOneOf(std::string_view word,
                    std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The word of `words` that is most similar to `text`, or "" if none is similar
// enough.
std::string_view NearestWord(std::string_view text,
                             std::span<const std::string_view> words);

// ", did you mean 'show'?", or `otherwise` if no word is similar enough.
std::string DidYouMean(std::string_view text,
                       std::span<const std::string_view> words,
                       std::string_view otherwise = "");

// "1,234,567"
std::string WithThousands(std::uint64_t number);

// "module, type, op", "1, 128"
template <typename Words>
std::string Join(const Words& words, std::string_view separator = ", ") {
  std::string list;
  for (const auto& word : words) {
    if (!list.empty()) list += separator;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>) {
      list += std::to_string(word);
    } else {
      list += word;
    }
  }
  return list;
}

// Of a table whose rows have names: all names, and the row of one, or null.
template <typename Rows>
std::vector<std::string_view> NamesOf(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}
template <typename Rows>
auto FindNamed(const Rows& rows, std::string_view name)
    -> decltype(&*rows.begin()) {
  for (const auto& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// "a, b and 3 more": the first `most` of a list, each made printable and cut
// after `longest` bytes.
template <typename Words>
std::string FirstOf(const Words& words, std::size_t most, std::size_t longest) {
  std::string list;
  std::size_t count = 0;
  for (const auto& word : words) {
    if (++count > most) continue;
    list += Message("{}{}", count == 1 ? "" : ", ", Short{word, longest});
  }
  return count <= most
             ? list
             : fmt::format("{} and {} more", list, WithThousands(count - most));
}

// 23041234567 is "23.0 G", and as bytes "23.0 GB".
std::string Compact(std::uint64_t number);
std::string BytesText(std::uint64_t number);

// "3 nodes", "1 node"
std::string Count(std::uint64_t number, std::string_view noun);

// "\n  a\n  b\n  and 3 more": the list below the first line of a message.
std::string ListLines(std::span<const std::string> lines,
                      std::size_t most = 20);

// The same of names, which are made printable.
std::string NameLines(std::span<const std::string> names);

// Splits at every `separator`; "" gives one empty part.
std::vector<std::string_view> Split(std::string_view text,
                                    std::string_view separator);
inline std::vector<std::string_view> Split(std::string_view text,
                                           char separator) {
  return Split(text, std::string_view(&separator, 1));
}

// Its lines, without a carriage return at their end.
std::vector<std::string_view> Lines(std::string_view text);

// The length of the valid UTF-8 sequence at the start of `text`, or 0 if there
// is none. Overlong forms, surrogates and values past U+10FFFF are invalid.
std::size_t Utf8Length(std::string_view text);

// Code points as UTF-8.

// What is no code point becomes U+FFFD: a lone surrogate has no UTF-8 form.
void AppendUtf8(std::uint32_t code, std::string& out);

}  // namespace onnx_tag
