// Any bytes as a model: refused with an error, or read and mapped, and what is
// said of it adds up.
#include "core/tagging/sidecar.h"
#include "fuzz/read_any.h"
#include "fuzz/require.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

void CheckEdges(const Model& model) {
  for (const NodeId node : model.Nodes()) {
    for (const ValueId output : model.Outputs(node)) {
      Require(output == kNo<ValueId> || model.Producer(output) <= node);
    }
    for (const ValueId input : model.Inputs(node)) {
      Require(input == kNo<ValueId> || Index(input) < model.value_count());
    }
  }
}

void CheckSidecar(const Model& model, const Tagging& tagging) {
  std::string json;
  WriteSidecar(model, tagging, SidecarModel(),
               [&](Bytes piece) { json += piece; });
  const Sidecar sidecar = ReadSidecar(json);
  Require(sidecar.graph.node_count() == model.node_count());
  for (const NodeId node : model.Nodes()) {
    Require(sidecar.graph[node].name == model[node].name &&
            sidecar.graph.OpType(node) == model.OpType(node));
  }
}

}  // namespace
}  // namespace onnx_tag

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::optional<Model> model = ReadAny(data, size);
  if (!model) return 0;
  // A file is judged once: from here on nothing may throw.
  CheckEdges(*model);
  const Tagging tagging = MapNodes(*model, MappingOptions());
  const Coverage coverage = CountTags(tagging);
  Require(coverage.nodes == model->node_count());
  Require(coverage.tagged <= coverage.nodes);
  CheckSidecar(*model, tagging);
  return 0;
}
