#include "file/model/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;

using Names = std::vector<std::string_view>;

class ModelBuilderTest : public testing::Test {
 protected:
  void Add(std::string_view graph, std::uint32_t index, std::string_view op,
           const Names& inputs, const Names& outputs) {
    builder_.Add({.graph = graph,
                  .index = index,
                  .name = "",
                  .op = op,
                  .domain = "",
                  .inputs = inputs,
                  .outputs = outputs});
  }

  ModelBuilder builder_;
};

TEST_F(ModelBuilderTest, ABranchReadsValuesOfTheGraphAroundIt) {
  Add("", 0, "A", {"x", ""}, {"y"});
  Add("", 1, "If", {"y"}, {"z"});
  Add("1:then_branch", 0, "B", {"y"}, {"inner"});
  Add("1:then_branch", 1, "C", {"inner"}, {"out"});
  const std::vector<std::string> inputs = {"x"};
  const std::vector<std::string> outputs = {"z"};
  const Model model = builder_.Build(inputs, outputs);
  EXPECT_THAT(model.InputNames(NodeId{0}), ElementsAre("x", ""));
  EXPECT_TRUE(model[model.Inputs(NodeId{0})[0]].is_input);
  EXPECT_EQ(model.Producer(model.Inputs(NodeId{2})[0]), NodeId{0});
  EXPECT_EQ(model.Producer(model.Inputs(NodeId{3})[0]), NodeId{2});
  EXPECT_EQ(model.Address(NodeId{3}), "1:then_branch#1");
  ASSERT_EQ(model.Subgraphs(NodeId{1}).size(), 1u);
  const Graph& branch = model[model.Subgraphs(NodeId{1})[0]];
  EXPECT_EQ(branch.attribute, "then_branch");
  EXPECT_TRUE(model[model.Outputs(NodeId{3})[0]].is_output);
  EXPECT_TRUE(model.NodeBytes(NodeId{0}).empty());
}

TEST_F(ModelBuilderTest, AFunctionSeesOnlyItsOwnValues) {
  Add("", 0, "A", {}, {"y"});
  Add("fn:my.domain::Block:v2", 0, "B", {"y"}, {"z"});
  const Model model = builder_.Build({}, {});
  EXPECT_EQ(model.Producer(model.Inputs(NodeId{1})[0]), kNo<NodeId>);
  ASSERT_EQ(model.functions().size(), 1u);
  EXPECT_EQ(model.functions()[0].domain, "my.domain");
  EXPECT_EQ(model.functions()[0].name, "Block");
  EXPECT_EQ(model.functions()[0].overload, "v2");
}

// A sidecar may say anything.
TEST_F(ModelBuilderTest, APathThatLeadsNowhereIsAGraphOfItsOwn) {
  std::string deep = "0:a";
  for (int i = 0; i < 1000; ++i) deep += "/0:a";
  for (const std::string& path :
       {std::string("7:body"), std::string("0:a/0:b"), std::string("fn:"),
        std::string("fn::x"), std::string("fn:::"), std::string("train["),
        std::string("1:"), std::string(":"), std::string("/"), deep}) {
    Add(path, 0, "A", {"x"}, {"x"});
  }
  const Model model = builder_.Build({}, {});
  ASSERT_EQ(model.node_count(), 10u);
  EXPECT_EQ(model.GraphPath(NodeId{0}), "7:body");
  EXPECT_EQ(model.Address(NodeId{9}), deep + "#0");
}

}  // namespace
}  // namespace onnx_tag
