// What must hold for any bytes: a fuzzer notices an abort.
#ifndef ONNX_TAG_TESTS_FUZZ_REQUIRE_H_
#define ONNX_TAG_TESTS_FUZZ_REQUIRE_H_

#include <cstdlib>

namespace onnx_tag {

inline void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_TESTS_FUZZ_REQUIRE_H_
