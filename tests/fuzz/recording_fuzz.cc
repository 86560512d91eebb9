// Any bytes as a recording, a module map, or both: read, or refused.
#include <cstdint>
#include <string>

#include "clues/recording/module_map.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    ReadRecording(text);
  } catch (const Error&) {
  }
  try {
    ReadModuleMap(text);
  } catch (const Error&) {
  }
  return 0;
}
