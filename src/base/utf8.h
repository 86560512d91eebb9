// Code points as UTF-8.
#ifndef ONNX_TAG_BASE_UTF8_H_
#define ONNX_TAG_BASE_UTF8_H_

#include <cstdint>
#include <string>

namespace onnx_tag {

// What is no code point becomes U+FFFD: a lone surrogate has no UTF-8 form.
void AppendUtf8(std::uint32_t code, std::string& out);

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_UTF8_H_
