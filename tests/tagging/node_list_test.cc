#include "tagging/node_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/generated_model.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;

std::vector<SidecarNode> RowsOf(const Model& model) {
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(model.node_count());
  std::string text;
  WriteSidecar(model, tagging, AboutModel("m.onnx", model, tagging),
               [&](Bytes bytes) { text.append(bytes); });
  return ReadSidecar(text).nodes;
}

TEST(NodeListTest, SaysTheSameOfAModelAndOfItsSidecar) {
  for (std::uint32_t seed = 1; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string bytes = GeneratedModel(random, false).SerializeAsString();
    const Model model = ReadModel(bytes);
    const NodeList here(model);
    const NodeList there(RowsOf(model));
    ASSERT_EQ(here.size(), there.size());
    for (const NodeId node : here.All()) {
      EXPECT_EQ(here.Name(node), there.Name(node));
      EXPECT_EQ(here.Op(node), there.Op(node));
      EXPECT_EQ(here.Domain(node), there.Domain(node));
      EXPECT_EQ(here.Graph(node), there.Graph(node));
      EXPECT_EQ(here.IndexOf(node), there.IndexOf(node));
      EXPECT_EQ(here.Inputs(node), there.Inputs(node));
      EXPECT_EQ(here.Outputs(node), there.Outputs(node));
      EXPECT_EQ(here.Address(node), there.Address(node));
    }
  }
}

TEST(NodeListTest, NamesNodesOfSubgraphsByTheirPlace) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "A" input: "x" input: "" output: "y" }
      node {
        op_type: "If"
        attribute {
          name: "then_branch"
          type: 5
          g { node { op_type: "B" } }
        }
      }
    })pb");
  const Model model = ReadModel(bytes);
  NodeList nodes(model);
  const NodeList moved = std::move(nodes);
  EXPECT_THAT(moved.Inputs(NodeId{0}), ElementsAre("x", ""));
  EXPECT_EQ(moved.Address(NodeId{0}), "#0");
  EXPECT_EQ(moved.Address(NodeId{2}), "1:then_branch#0");
}

}  // namespace
}  // namespace onnx_tag::test
