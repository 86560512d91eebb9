// A short text that stands for a long one: equal for equal bytes.
#ifndef ONNX_TAG_COMMANDS_READ_DIGEST_H_
#define ONNX_TAG_COMMANDS_READ_DIGEST_H_

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "base/interner.h"

namespace onnx_tag {

inline std::string DigestOf(std::string_view bytes) {
  return fmt::format("{:016x}", HashBytes(bytes));
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_DIGEST_H_
