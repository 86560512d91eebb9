// Any bytes as the head of a .safetensors file and as a list of parameters:
// read, or refused.
#include <cstdint>
#include <cstdlib>

#include "onnx_tag/error.h"
#include "uses/weights/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const Bytes file(reinterpret_cast<const char*>(data), size);
  try {
    const auto tensors = weights::ReadSafetensorsTensors(file, true);
    // Each takes bytes of the head: a name, a type and a place at least.
    if (tensors.size() > size) std::abort();
  } catch (const Error&) {
  }
  try {
    weights::ReadModuleParameters(file);
  } catch (const Error&) {
  }
  weights::IsSafetensors(file);
  return 0;
}
