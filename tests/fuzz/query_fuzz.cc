// Any bytes as a query: it is asked of a small model, or refused. Patterns may
// be hostile: time is bounded by their length times that of the text.
#include <cstdint>
#include <string>

#include "core/query/matcher.h"
#include "core/query/parser.h"
#include "core/tagging/sidecar.h"
#include "onnx_tag/error.h"
#include "onnx_tag/tagging.h"

namespace {

// Names with many repeats are what patterns with many stars stumble over.
constexpr std::string_view kSidecar = R"({
  "format": "onnx-tag/1",
  "model": {"file": "m.onnx", "fingerprint": "", "nodes": 2},
  "strategy": "enhanced_semantic", "granularity": "hf",
  "root": {"class": "Net"},
  "modules": [{"path": "", "class": "Net"},
              {"path": "aaaa.aaaa.aaaa.aaaa.aaaa.aaaa.0.b", "class": "Linear"}],
  "nodes": [{"graph": "", "index": 0, "op": "MatMul",
             "name": "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/aaaaaaaaaaaaaaaaab",
             "inputs": [], "outputs": [], "domain": "", "class": "Linear",
             "module": "aaaa.aaaa.aaaa.aaaa.aaaa.aaaa.0.b",
             "semantic": {"type": "attention", "component": "query"},
             "confidence": "certain", "source": "scope"},
            {"graph": "", "index": 1, "op": "Relu", "name": "",
             "inputs": [], "outputs": [], "domain": "", "module": null}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  static const Sidecar sidecar = ReadSidecar(kSidecar);
  try {
    const query::Expression expression =
        query::Parse(std::string(reinterpret_cast<const char*>(data), size));
    const query::Matcher matcher(expression, sidecar.tagging, sidecar.graph);
    if (matcher.All().size() > sidecar.graph.node_count()) __builtin_trap();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) __builtin_trap();
  }
  return 0;
}
