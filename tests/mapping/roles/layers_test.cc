// The layer rule, and the reader of src/data/roles.txt.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "mapping/roles/role_facts.h"
#include "mapping/roles/role_vocabulary.h"

namespace onnx_tag {
namespace {

std::int32_t LayerOf(const std::vector<std::string>& paths,
                     const std::string& path,
                     std::vector<std::uint32_t> kinds = {}) {
  ModuleTree tree;
  for (const std::string& each : paths) tree.Add(each);
  kinds.resize(tree.size(), 1);
  return LayerIndices(tree, kinds)[Index(tree.Find(path))];
}

TEST(LayerTest, IsTheFirstListOfTwoAlike) {
  EXPECT_EQ(LayerOf({"h.0.attn", "h.1.attn"}, "h.1.attn"), 1);
  EXPECT_EQ(LayerOf({"h.0.attn"}, "h.0.attn"), -1);
  // Stages count before blocks.
  EXPECT_EQ(LayerOf({"stages.0.blocks.0.a", "stages.0.blocks.1.a",
                     "stages.1.blocks.0.a"},
                    "stages.0.blocks.1.a"),
            0);
  // One of the blocks has a shortcut.
  EXPECT_EQ(LayerOf({"layer2.0.conv1", "layer2.0.conv2", "layer2.0.downsample",
                     "layer2.1.conv1", "layer2.1.conv2"},
                    "layer2.1.conv1"),
            1);
}

TEST(LayerTest, UnlikePartsAreNone) {
  // T5: self-attention and feed-forward in one list.
  const std::vector<std::string> paths = {
      "block.0.layer.0.SelfAttention.q", "block.0.layer.0.layer_norm",
      "block.0.layer.1.DenseReluDense.wi", "block.0.layer.1.layer_norm"};
  EXPECT_EQ(LayerOf(paths, "block.0.layer.1.layer_norm"), -1);
  // Sequential(Conv2d, ReLU, Conv2d): ids are root, c, c.0, c.1, c.2.
  EXPECT_EQ(LayerOf({"c.0", "c.1", "c.2"}, "c.2", {0, 0, 5, 6, 5}), -1);
  EXPECT_EQ(LayerOf({"c.0", "c.1", "c.2"}, "c.2", {0, 0, 5, 5, 5}), 2);
  // The ReLU between them is gone.
  EXPECT_EQ(LayerOf({"c.0", "c.2"}, "c.2"), -1);
}

TEST(LayerTest, ClassesDecideWhereTheyAreKnown) {
  ModuleTree tree;
  const ModuleId first = tree.Add("parts.0");
  const ModuleId second = tree.Add("parts.1");
  tree.Add("parts.0.a");
  tree.Add("parts.1.a");
  const std::vector<std::uint32_t> kinds(tree.size(), 1);
  EXPECT_EQ(LayerIndices(tree, kinds)[Index(second)], 1);
  tree.SetClass(first, "Transformer");
  tree.SetClass(second, "Pooling");
  EXPECT_EQ(LayerIndices(tree, kinds)[Index(second)], -1);
}

TEST(RoleVocabularyTest, PatternsIgnoreCase) {
  const auto matches = [](const std::string& pattern, std::string_view text) {
    const std::string line = "name " + pattern + " head";
    return !RoleVocabulary(line).Matching(RoleSubject::kName, text).empty();
  };
  EXPECT_TRUE(matches("*norm*", "Post_LayerNorm_2"));
  EXPECT_TRUE(matches("lora_a", "lora_A"));
  EXPECT_FALSE(matches("norm", "norm1"));
  EXPECT_TRUE(matches("*a*b", "xaab"));
  EXPECT_FALSE(matches("*a*b", "xaabc"));
}

TEST(RoleVocabularyTest, RefusesWordsThatDoNotExist) {
  EXPECT_THROW(RoleVocabulary("name x attentoin"), std::invalid_argument);
  EXPECT_THROW(RoleVocabulary("name x attention/qury"), std::invalid_argument);
  EXPECT_THROW(RoleVocabulary("name x head wen=leaf"), std::invalid_argument);
}

}  // namespace
}  // namespace onnx_tag
