#include "app/commands/select/layer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ONNX Runtime's rule: `=a` is a, `a` is everything that starts with it.
bool Catches(const std::vector<std::string>& rules, const std::string& path) {
  for (const std::string& rule : rules) {
    if (rule[0] == '=' ? rule.substr(1) == path : path.starts_with(rule)) {
      return true;
    }
  }
  return false;
}

class LayerRulesTest : public testing::Test {
 protected:
  void Nodes(const std::vector<std::string>& paths) {
    tagging_.roles.Add(Role());
    for (const std::string& path : paths) {
      Tag tag;
      if (path != "-") tag.module = tagging_.modules.Add(path);
      tagging_.tags.Add(tag);
    }
  }
  LayerRules Select(const std::vector<std::uint32_t>& nodes) {
    std::vector<NodeId> ids;
    for (const std::uint32_t node : nodes) ids.push_back(NodeId{node});
    return LayerRulesFor(tagging_, ids);
  }
  Tagging tagging_;
};

TEST_F(LayerRulesTest, LayerOneDoesNotCatchLayerTen) {
  Nodes({"layer.1", "layer.1.q", "layer.10", "layer.10.q", "layer.100"});
  const LayerRules rules = Select({0, 1});
  EXPECT_THAT(rules.rules, ElementsAre("=layer.1", "layer.1."));
  EXPECT_EQ(rules.Setting("cuda"), "cuda(=layer.1, layer.1.)");
  for (const char* const path : {"layer.1", "layer.1.q"}) {
    EXPECT_TRUE(Catches(rules.rules, path));
  }
  for (const char* const path : {"layer.10", "layer.10.q", "layer.100"}) {
    EXPECT_FALSE(Catches(rules.rules, path)) << path;
  }
  EXPECT_THAT(rules.obstacles, IsEmpty());
  EXPECT_THAT(rules.split, IsEmpty());
}

TEST_F(LayerRulesTest, APrefixOnlyWhereAllBelowIsSelected) {
  Nodes({"enc.a", "enc.b.x", "enc.b.y", "enc.c"});
  EXPECT_THAT(Select({0, 1, 2, 3}).rules, ElementsAre("enc."));
  EXPECT_THAT(Select({0, 1, 2}).rules, ElementsAre("=enc.a", "enc.b."));
  EXPECT_THAT(Select({1}).rules, ElementsAre("=enc.b.x"));
}

TEST_F(LayerRulesTest, ModulesAreTakenWhole) {
  Nodes({"a", "a", "b"});
  const LayerRules rules = Select({0, 2});
  EXPECT_THAT(rules.split, ElementsAre("a: 1 of its 2 nodes"));
}

TEST_F(LayerRulesTest, WhatTheSettingCannotHoldIsTold) {
  Nodes({"", "-", "a(b", "c", " d"});
  const LayerRules rules = Select({0, 1, 2, 3, 4});
  ASSERT_EQ(rules.obstacles.size(), 4u);
  EXPECT_THAT(rules.obstacles[0].why, HasSubstr("root"));
  EXPECT_THAT(rules.obstacles[1].why, HasSubstr("no module"));
  EXPECT_THAT(rules.obstacles[2].why, HasSubstr("cannot hold"));
  EXPECT_EQ(rules.obstacles[3].node, NodeId{4});
}

}  // namespace
}  // namespace onnx_tag
