// The order of nodes in the file must not matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "clues/structure/small_nets.h"
#include "clues/structure/truth_files.h"
#include "core/graph/graph_facts.h"

namespace onnx_tag::test {
namespace {

// A random order in which each node follows what it reads. `place` gets the
// new index of each node.
schema::ModelProto Shuffled(const schema::ModelProto& model,
                            std::vector<std::uint32_t>& place) {
  const auto& nodes = model.graph().node();
  std::map<std::string, int> made_by;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) made_by[output] = i;
  }
  std::vector<int> open(static_cast<std::size_t>(nodes.size()), 0);
  std::vector<std::vector<int>> readers(open.size());
  for (int i = 0; i < nodes.size(); ++i) {
    std::set<int> from;
    for (const std::string& input : nodes[i].input()) {
      const auto at = made_by.find(input);
      if (at != made_by.end()) from.insert(at->second);
    }
    open[static_cast<std::size_t>(i)] = static_cast<int>(from.size());
    for (const int f : from) readers[static_cast<std::size_t>(f)].push_back(i);
  }
  std::vector<int> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (open[static_cast<std::size_t>(i)] == 0) ready.push_back(i);
  }
  std::mt19937 random(7);
  schema::ModelProto result = model;
  result.mutable_graph()->clear_node();
  place.assign(open.size(), 0);
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const int i = ready.back();
    ready.pop_back();
    place[static_cast<std::size_t>(i)] =
        static_cast<std::uint32_t>(result.graph().node_size());
    *result.mutable_graph()->add_node() = nodes[i];
    for (const int r : readers[static_cast<std::size_t>(i)]) {
      if (--open[static_cast<std::size_t>(r)] == 0) ready.push_back(r);
    }
  }
  return result;
}

TEST(OrderTest, AShuffledTransformerHasTheSameModules) {
  Net net;
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 4; ++i) x = net.Layer(x, 8);
  net.Output(x);
  const Found sorted(net.model());
  std::vector<std::uint32_t> place;
  const Found shuffled(Shuffled(net.model(), place));
  for (std::uint32_t i = 0; i < place.size(); ++i) {
    EXPECT_EQ(shuffled.Path(place[i]), sorted.Path(i)) << i;
  }
}

// Masks are placed by the order of the file, so not every node is the same.
TEST(OrderTest, NinetyEightOfAHundredNodesOfRealModelsStayInTheirLayer) {
  std::uint64_t nodes = 0;
  std::uint64_t same = 0;
  for (const LayeredFile& file : LayeredFiles()) {
    schema::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(file.bytes));
    bool has_subgraphs = false;
    for (const schema::NodeProto& node : model.graph().node()) {
      for (const schema::AttributeProto& attribute : node.attribute()) {
        has_subgraphs |= attribute.has_g();
      }
    }
    if (has_subgraphs) continue;
    const Found sorted(model);
    std::vector<std::uint32_t> place;
    const Found shuffled(Shuffled(model, place));
    const GraphFacts graph(sorted.model());
    for (std::uint32_t i = 0; i < place.size(); ++i) {
      if (!graph.data.IsMadeBy(MakeId<NodeId>(i))) continue;
      ++nodes;
      same +=
          LayerOf(sorted.Path(i)) == LayerOf(shuffled.Path(place[i])) ? 1u : 0u;
    }
  }
  ASSERT_GT(nodes, 1000u);
  EXPECT_GE(100 * same, 98 * nodes) << same << " of " << nodes;
}

}  // namespace
}  // namespace onnx_tag::test
