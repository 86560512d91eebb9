// Models whose modules are known: are layers found to the node, without names?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "clues/structure/structure.h"
#include "clues/structure/truth_files.h"
#include "core/graph/graph_facts.h"

namespace onnx_tag::test {
namespace {

struct Exact {
  std::uint32_t layers = 0;
  std::uint32_t found = 0;
};

// Layers of three nodes or more that carry data.
Exact Score(const LayeredFile& file) {
  const Model model = ReadModel(file.bytes);
  const Structure structure = FindStructure(GraphFacts(model));
  std::map<std::string, std::set<NodeId>> layers;
  std::set<NodeId> scored;
  const GraphFacts graph(model);
  for (const NodeId node : model[MakeId<GraphId>(0)].nodes) {
    const auto module = file.module_of.find(model[node].index);
    if (module == file.module_of.end() || !graph.data.IsMadeBy(node)) continue;
    scored.insert(node);
    const std::string layer = LayerOf(module->second);
    if (!layer.empty()) layers[layer].insert(node);
  }
  std::map<FoundId, std::set<NodeId>> modules;
  for (const NodeId node : scored) {
    FoundId id = structure.ModuleOf(node);
    for (; id != kNo<FoundId>; id = structure[id].parent) {
      modules[id].insert(node);
    }
  }
  std::set<std::set<NodeId>> offered;
  for (const auto& [id, nodes] : modules) offered.insert(nodes);
  Exact exact;
  for (const auto& [layer, nodes] : layers) {
    if (nodes.size() < 3) continue;
    ++exact.layers;
    exact.found += offered.contains(nodes) ? 1u : 0u;
  }
  return exact;
}

TEST(TruthTest, LayersOfExportedModelsAreFoundToTheNode) {
  Exact all;
  for (const LayeredFile& file : LayeredFiles()) {
    const Exact exact = Score(file);
    all.layers += exact.layers;
    all.found += exact.found;
  }
  ASSERT_GE(all.layers, 40u);
  // A floor that only rises.
  EXPECT_GE(100 * all.found, 86 * all.layers)
      << all.found << " of " << all.layers;
}

}  // namespace
}  // namespace onnx_tag::test
