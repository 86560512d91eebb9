// What the system allows a process.
#ifndef ONNX_TAG_FILE_IO_LIMITS_H_
#define ONNX_TAG_FILE_IO_LIMITS_H_

#include <cstddef>

namespace onnx_tag {

// How many files may be open at once; SIZE_MAX where nothing limits them.
std::size_t OpenFileLimit();

}  // namespace onnx_tag

#endif  // ONNX_TAG_FILE_IO_LIMITS_H_
