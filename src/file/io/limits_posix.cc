#include <sys/resource.h>

#include <cstdint>

#include "file/io/limits.h"

namespace onnx_tag {

std::size_t OpenFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return SIZE_MAX;
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace onnx_tag
