// A view of bytes: of a mapped file, of a message in it, of a name.
#ifndef ONNX_TAG_BASE_BYTES_H_
#define ONNX_TAG_BASE_BYTES_H_

#include <string_view>

namespace onnx_tag {

using Bytes = std::string_view;

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_BYTES_H_
