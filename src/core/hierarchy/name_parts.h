// Splits names. Every function returns views of its argument.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace onnx_tag::hierarchy {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsWordChar(char c) {
  return IsDigit(c) || IsUpper(c) || IsLower(c) || c == '_';
}

// Real paths have about 12 atoms and 100 bytes. A name beyond these limits is
// hostile and is not used as evidence. Every node below it would get a tag with
// this name: 10^5 short nodes and one name of 1 MB would be 100 GB of tags, and
// a parameter 1,000 atoms deep would make 1,000 modules.
constexpr std::size_t kMaxPathBytes = 2000;
constexpr std::size_t kMaxPathAtoms = 128;

// Whether `text`, a scope or a dotted path, is within these limits.
constexpr bool IsCrediblePath(std::string_view text) {
  if (text.size() > kMaxPathBytes) return false;
  std::size_t atoms = 1;
  for (const char c : text) atoms += c == '.' || c == '/' ? 1 : 0;
  return atoms <= kMaxPathAtoms;
}

constexpr std::size_t TrailingDigits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && IsDigit(text[text.size() - 1 - count])) ++count;
  return count;
}

// "" is not numeric.
constexpr bool IsNumeric(std::string_view text) {
  return !text.empty() && TrailingDigits(text) == text.size();
}

// `text` without `suffix` and the digits after it; nothing if it does not
// end so: WithoutNumbered("MatMul_12", "_") is "MatMul".
constexpr std::optional<std::string_view> WithoutNumbered(
    std::string_view text, std::string_view suffix) {
  const std::size_t digits = TrailingDigits(text);
  if (digits == 0) return std::nullopt;
  text.remove_suffix(digits);
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  return text;
}

// `text` without the number by which a tool keeps equal names apart, unless
// nothing else is left: "dense_1" is "dense".
constexpr std::string_view WithoutCounter(std::string_view text,
                                          std::string_view separator = "_") {
  const auto bare = WithoutNumbered(text, separator);
  return bare && !bare->empty() ? *bare : text;
}

constexpr bool ConsumePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

constexpr bool ConsumeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// The text after the last `separator`; the whole text if there is none.
constexpr std::string_view LastPart(std::string_view text, char separator) {
  const std::size_t at = text.rfind(separator);
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

// The text before the last `separator`; "" if there is none.
constexpr std::string_view BeforeLastPart(std::string_view text,
                                          char separator) {
  const std::size_t at = text.rfind(separator);
  return at == std::string_view::npos ? std::string_view() : text.substr(0, at);
}

// What dynamo adds to the name of a convolution for its bias, if a BatchNorm
// was folded into a convolution that had none: "stem.conv.weight_bias".
inline constexpr std::string_view kFoldedBias = ".weight_bias";

constexpr bool IsFoldedBias(std::string_view parameter) {
  return parameter.ends_with(kFoldedBias);
}

// The number, or `otherwise` if it is not a number or too large.
constexpr int SmallNumber(std::string_view digits, int otherwise) {
  if (digits.empty() || digits.size() > 9) return otherwise;
  int value = 0;
  for (const char c : digits) {
    if (!IsDigit(c)) return otherwise;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace onnx_tag::hierarchy
