// Any bytes as a model: blocks are found in whatever graph it is, and form a
// tree that holds every node at most once.
#include "clues/structure/structure.h"
#include "fuzz/read_any.h"
#include "fuzz/require.h"

namespace onnx_tag {
namespace {

void CheckStructure(const Model& model) {
  const Structure found = FindStructure(GraphFacts(model));
  std::size_t inside = 0;
  for (const NodeId node : model.Nodes()) {
    const FoundId module = found.ModuleOf(node);
    if (module == kNo<FoundId>) continue;
    ++inside;
    Require(!found.Path(module).empty());
  }
  Require(inside <= model.node_count());
}

}  // namespace
}  // namespace onnx_tag

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::optional<Model> model = ReadAny(data, size);
  if (model) CheckStructure(*model);
  return 0;
}
