// What must hold for any bytes: a fuzzer notices an abort.
#pragma once

#include <cstdlib>

namespace onnx_tag {

inline void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace onnx_tag
