// The tool's version, from CMakeLists.txt.
#ifndef ONNX_TAG_CORE_TAGGING_VERSION_H_
#define ONNX_TAG_CORE_TAGGING_VERSION_H_

#include <string_view>

#include "generated/version.h"

namespace onnx_tag {

inline constexpr std::string_view kVersion = ONNX_TAG_VERSION;

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_VERSION_H_
