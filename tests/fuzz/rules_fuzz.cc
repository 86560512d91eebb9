// Any bytes as a rules file: read, or refused with line and column.
#include <cstdint>
#include <string>

#include "mapping/rules/rules.h"
#include "onnx_tag/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    ReadRules(text, "rules.json");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) __builtin_trap();
  }
  return 0;
}
