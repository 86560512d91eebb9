#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands/read/modules.h"

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;

class FoldedTreeTest : public testing::Test {
 protected:
  void Add(const std::string& path, const std::string& name = "") {
    const ModuleId id = tagging_.modules.Add(path);
    tagging_.modules.SetClass(id, name);
    Tag tag;
    tag.module = id;
    tagging_.tags.Add(tag);
  }
  // "label xN", indented by depth.
  std::vector<std::string> Rows(const FoldOptions& options = {}) {
    const ModuleCounts counts(tagging_);
    std::vector<std::string> rows;
    FoldedTree(tagging_, counts)
        .ForEachRow(ModuleTree::kRoot, options, [&](const FoldedRow& row) {
          rows.push_back(std::string(row.depth, ' ') + row.label + " x" +
                         std::to_string(row.modules.size()));
        });
    return rows;
  }
  Tagging tagging_;
};

TEST_F(FoldedTreeTest, LayersOfEqualStructureShareARow) {
  for (const char* const layer : {"0", "1", "2"}) {
    Add(std::string("enc.layer.") + layer + ".q", "Linear");
    Add(std::string("enc.layer.") + layer, "Layer");
  }
  Add("enc", "Encoder");
  EXPECT_THAT(Rows(),
              ElementsAre(" x1", " enc x1", "  layer.0-2 x3", "   q x3"));
  FoldOptions unfolded;
  unfolded.fold = false;
  EXPECT_EQ(Rows(unfolded).size(), 9u);
}

TEST_F(FoldedTreeTest, ALayerThatDiffersHasItsOwn) {
  Add("layer.0.down", "Conv2d");
  for (const char* const layer : {"0", "1", "2", "3"}) {
    Add(std::string("layer.") + layer + ".conv", "Conv2d");
  }
  Add("layer.4.conv", "Linear");
  EXPECT_THAT(Rows(),
              ElementsAre(" x1", " layer x1", "  0 x1", "   down x1",
                          "   conv x1", "  1-3.conv x3", "  4.conv x1"));
}

TEST_F(FoldedTreeTest, MissingIndicesAreSeen) {
  Add("h.0", "Block");
  Add("h.3", "Block");
  Add("h.5", "Block");
  EXPECT_THAT(Rows(), ElementsAre(" x1", " h.0…5 x3"));
}

// Optimizers sort the nodes of equal layers differently.
TEST_F(FoldedTreeTest, EqualLayersMayHaveTheirPartsInAnotherOrder) {
  for (const char* const path :
       {"layers.1.q", "layers.1.k", "layers.0.k", "layers.0.q"}) {
    Add(path, "Linear");
  }
  EXPECT_THAT(Rows(), ElementsAre(" x1", " layers.0-1 x2", "  q x2", "  k x2"));
}

TEST_F(FoldedTreeTest, DepthCountsRows) {
  Add("a.b.c.d", "D");
  Add("a.b", "B");
  Add("a", "A");
  FoldOptions options;
  options.depth = 1;
  EXPECT_THAT(Rows(options), ElementsAre(" x1", " a x1"));
}

// Counts of a row's children add up to the row, folded or not.
TEST_F(FoldedTreeTest, NoModuleIsLostOrCountedTwice) {
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 3 + stage % 2; ++block) {
      const std::string path = "stages." + std::to_string(stage) + ".blocks." +
                               std::to_string(block);
      Add(path, "Block");
      Add(path + ".conv", "Conv2d");
    }
  }
  const ModuleCounts counts(tagging_);
  std::uint64_t own = 0;
  FoldedTree(tagging_, counts)
      .ForEachRow(ModuleTree::kRoot, {}, [&](const FoldedRow& row) {
        for (const ModuleId id : row.modules) own += counts.Own(id);
      });
  EXPECT_EQ(own, tagging_.tags.size());
}

TEST_F(FoldedTreeTest, AChainOfManyLevelsNeedsNoStack) {
  std::string path = "a";
  for (int i = 0; i < 5'000; ++i) path += ".a";
  Add(path);
  EXPECT_GT(Rows().size(), 500u);
}

}  // namespace
}  // namespace onnx_tag
