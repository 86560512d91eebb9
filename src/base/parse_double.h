// A floating-point number from text.
#ifndef ONNX_TAG_BASE_PARSE_DOUBLE_H_
#define ONNX_TAG_BASE_PARSE_DOUBLE_H_

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace onnx_tag {

// 0 if `text` starts with no number.
inline double ParseDouble(std::string_view text) {
#ifdef __cpp_lib_to_chars
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
#else
  // The standard library of emscripten has from_chars for integers only.
  return std::strtod(std::string(text).c_str(), nullptr);
#endif
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_PARSE_DOUBLE_H_
