// Sentences that are safe to print, whatever the names in them contain.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace onnx_tag {

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

}  // namespace onnx_tag
