// A number from text.
#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace onnx_tag {

// nullopt unless all of `text` is a number that an Integer can hold.
template <typename Integer>
std::optional<Integer> ParseWhole(std::string_view text) {
  Integer number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// nullopt unless all of `text` is a number.
inline std::optional<double> ParseAllAsDouble(std::string_view text) {
#ifdef __cpp_lib_to_chars
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
#else
  // The standard library of emscripten has from_chars for integers only.
  // strtod also takes leading spaces, a plus sign and hexadecimal digits.
  if (text.empty() || text.find_first_of(" \t\r\n\v\f+xX") == 0 ||
      text.find_first_of("xX") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string copy(text);
  char* stop = nullptr;
  const double number = std::strtod(copy.c_str(), &stop);
  if (stop != copy.c_str() + copy.size()) return std::nullopt;
  return number;
#endif
}

// The same; 0 where it is none.
inline double ParseDouble(std::string_view text) {
  return ParseAllAsDouble(text).value_or(0);
}

}  // namespace onnx_tag
