// Any bytes as a sidecar: read, or refused with an error.
#include <cstdint>
#include <string>

#include "core/tagging/sidecar.h"
#include "onnx_tag/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Sidecar sidecar = ReadSidecar(text);
    const Model& graph = sidecar.graph;
    if (graph.node_count() != sidecar.tagging.tags.size()) __builtin_trap();
    // What reads a sidecar whole reads its head.
    GlanceAtSidecar(text);
  } catch (const Error&) {
  }
  return 0;
}
