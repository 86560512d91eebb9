#include "file/io/limits.h"

namespace onnx_tag {

// Descriptors of the C library; the system's handles know no limit.
std::size_t OpenFileLimit() { return 8192; }

}  // namespace onnx_tag
