#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands/read/closed_cut.h"
#include "support/onnx_models.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// x -> a -> b -> c -> y, with a way round b, a weight w and a constant k.
constexpr const char* kChain = R"pb(
  graph {
    node { op_type: "Constant" name: "k" output: "vk" }
    node { op_type: "Neg" name: "kk" input: "vk" output: "vkk" }
    node { op_type: "Add" name: "a" input: "x" input: "w" output: "va" }
    node { op_type: "Relu" name: "b" input: "va" output: "vb" }
    node { op_type: "Add" name: "c" input: "va" input: "vb" output: "vc" }
    node { op_type: "Mul" name: "d" input: "vc" input: "vkk" output: "y" }
    initializer { name: "w" }
    input { name: "x" }
    input { name: "w" }
    output { name: "y" }
  })pb";

constexpr const char* kBranch = R"pb(
  graph {
    node { op_type: "Relu" name: "a" input: "x" output: "va" }
    node { op_type: "Neg" name: "b" input: "x" output: "vb" }
    node {
      op_type: "If"
      name: "c"
      input: "cond"
      output: "vc"
      attribute {
        name: "then_branch"
        type: 5
        g {
          node { op_type: "Add" name: "t" input: "va" input: "vb" output: "vt" }
          output { name: "vt" }
        }
      }
      attribute {
        name: "else_branch"
        type: 5
        g { output { name: "vb" } }
      }
    }
    input { name: "x" }
    input { name: "cond" }
    output { name: "vc" }
  })pb";

class CutTest : public testing::Test {
 protected:
  Cut CutNamed(const std::string& model_text,
               const std::vector<std::string>& names) {
    const std::string path =
        folder_.Write("m.onnx", test::BytesFromText(model_text));
    Terminal terminal(-1, -1, {});
    TagSourceOptions options;
    options.remap = true;
    const TaggedModel model = TaggedModel::Load(path, options, terminal);
    std::vector<NodeId> selected;
    for (const NodeId node : model.model().Nodes()) {
      const std::string name(model.model()[node].name);
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        selected.push_back(node);
      }
    }
    const Cut cut = PartCutter(model.model()).CutOutClosed(selected);
    between_.clear();
    constants_.clear();
    for (const NodeId node : cut.between) {
      between_.emplace_back(model.model()[node].name);
    }
    for (const NodeId node : cut.constants) {
      constants_.emplace_back(model.model()[node].name);
    }
    return cut;
  }

  test::TemporaryFolder folder_;
  std::vector<std::string> between_;
  std::vector<std::string> constants_;
};

TEST_F(CutTest, WeightsAreNoInputs) {
  const Cut cut = CutNamed(kChain, {"a"});
  EXPECT_THAT(cut.inputs, ElementsAre("x"));
  EXPECT_THAT(cut.outputs, ElementsAre("va"));
  EXPECT_THAT(between_, IsEmpty());
}

TEST_F(CutTest, WhatIsBetweenComesAlong) {
  const Cut cut = CutNamed(kChain, {"a", "c"});
  EXPECT_THAT(between_, ElementsAre("b"));
  EXPECT_THAT(cut.inputs, ElementsAre("x"));
  EXPECT_THAT(cut.outputs, ElementsAre("vc"));
  EXPECT_EQ(cut.nodes.size(), 3u);
}

TEST_F(CutTest, ConstantsComeAlongAndAreNoOutputs) {
  const Cut cut = CutNamed(kChain, {"d"});
  EXPECT_THAT(constants_, ElementsAre("k", "kk"));
  EXPECT_THAT(cut.inputs, ElementsAre("vc"));
  EXPECT_THAT(cut.outputs, ElementsAre("y"));
}

TEST_F(CutTest, AValueThatIsReturnedAndReadIsAnOutputOnce) {
  EXPECT_THAT(CutNamed(kChain, {"c"}).outputs, ElementsAre("vc"));
  EXPECT_THAT(CutNamed(kChain, {"c", "d"}).outputs, ElementsAre("y"));
}

TEST_F(CutTest, CapturesAreReadByTheNodeAround) {
  const Cut alone = CutNamed(kBranch, {"c"});
  EXPECT_THAT(alone.inputs, ElementsAre("cond", "va", "vb"));
  EXPECT_THAT(alone.outputs, ElementsAre("vc"));
  const Cut both = CutNamed(kBranch, {"a", "c"});
  EXPECT_THAT(both.inputs, ElementsAre("x", "cond", "vb"));
  EXPECT_THAT(both.outputs, ElementsAre("vc"));
  EXPECT_THAT(CutNamed(kBranch, {"b"}).outputs, ElementsAre("vb"))
      << "a branch returns it as it is";
}

TEST_F(CutTest, ANodeOfASubgraphGoesWithTheNodeAround) {
  const Cut inside = CutNamed(kBranch, {"t"});
  ASSERT_EQ(inside.obstacles.size(), 1u);
  EXPECT_THAT(inside.obstacles[0].why, HasSubstr("inside node #2"));
  EXPECT_THAT(CutNamed(kBranch, {"t", "c"}).obstacles, IsEmpty());
}

}  // namespace
}  // namespace onnx_tag
