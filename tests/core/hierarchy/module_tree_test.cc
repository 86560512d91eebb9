#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "onnx_tag/hierarchy.h"

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;

TEST(ModuleTreeTest, AddsEachModuleOnceAndFindsItAgain) {
  ModuleTree tree;
  EXPECT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree.Add(""), ModuleTree::kRoot);
  const ModuleId query = tree.Add("encoder.layer.0.attention.self.query");
  EXPECT_EQ(tree.size(), 7u);
  EXPECT_EQ(tree.Add("encoder.layer.0.attention.self.query"), query);
  EXPECT_EQ(tree.size(), 7u);
  EXPECT_EQ(tree.Find("encoder.layer.0.attention.self.query"), query);
  EXPECT_EQ(tree.Find("encoder.layer.1"), kNo<ModuleId>);
  EXPECT_EQ(tree.Find("encoder.layer.1.attention"), kNo<ModuleId>);
  EXPECT_EQ(tree.Find(""), ModuleTree::kRoot);
  EXPECT_EQ(tree.FindChild(ModuleTree::kRoot, "layer"), kNo<ModuleId>);
  EXPECT_EQ(tree.Path(query), "encoder.layer.0.attention.self.query");
  EXPECT_EQ(tree.Path(ModuleTree::kRoot), "");
  EXPECT_EQ(tree.Atom(query), "query");
  EXPECT_EQ(tree.Atom(ModuleTree::kRoot), "");
  EXPECT_EQ(tree.Depth(query), 6u);
  EXPECT_EQ(tree.Parent(ModuleTree::kRoot), kNo<ModuleId>);
  EXPECT_EQ(tree.Path(tree.Parent(query)), "encoder.layer.0.attention.self");
}

TEST(ModuleTreeTest, KnowsAncestors) {
  ModuleTree tree;
  const ModuleId a = tree.Add("a");
  const ModuleId abc = tree.Add("a.b.c");
  const ModuleId abd = tree.Add("a.b.d");
  const ModuleId e = tree.Add("e");
  EXPECT_EQ(tree.CommonAncestor(abc, abd), tree.Find("a.b"));
  EXPECT_EQ(tree.CommonAncestor(abc, a), a);
  EXPECT_EQ(tree.CommonAncestor(abd, e), ModuleTree::kRoot);
  EXPECT_EQ(tree.CommonAncestor(e, e), e);
  EXPECT_TRUE(tree.IsAncestor(a, abc));
  EXPECT_TRUE(tree.IsAncestor(a, a));
  EXPECT_FALSE(tree.IsAncestor(abc, a));
  EXPECT_FALSE(tree.IsAncestor(e, abc));
  EXPECT_TRUE(tree.IsAncestor(ModuleTree::kRoot, e));
}

TEST(ModuleTreeTest, AModuleThatIsLeftOutKeepsItsIdAndIsNotFound) {
  // With more children than are searched one by one.
  ModuleTree tree;
  std::vector<ModuleId> layers;
  for (int i = 0; i < 20; ++i) {
    layers.push_back(tree.Add("layers." + std::to_string(i)));
  }
  IdVector<ModuleId, bool> kept(tree.size(), true);
  for (const int i : {0, 3, 8, 19}) kept[layers[i]] = false;
  tree.KeepOnly(kept);
  EXPECT_EQ(tree.size(), 22u);
  EXPECT_EQ(tree.count(), 18u);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string path = "layers." + std::to_string(i);
    EXPECT_EQ(tree.Path(layers[i]), path);
    EXPECT_EQ(tree.Find(path), kept[layers[i]] ? layers[i] : kNo<ModuleId>);
  }
  std::vector<ModuleId> all;
  for (const ModuleId id : tree.All()) all.push_back(id);
  EXPECT_EQ(all.size(), 18u);
  std::vector<ModuleId> children;
  for (const ModuleId id : tree.Children(tree.Find("layers"))) {
    children.push_back(id);
  }
  EXPECT_THAT(all, ::testing::IsSupersetOf(children));
  EXPECT_EQ(children.size(), 16u);
  // The same path again is another module.
  const ModuleId again = tree.Add("layers.3");
  EXPECT_GT(again, layers[19]);
  EXPECT_EQ(tree.Find("layers.3"), again);
  EXPECT_EQ(tree.count(), 19u);
  const ModuleTree copy = tree;
  EXPECT_EQ(copy.Find("layers.8"), kNo<ModuleId>);
}

TEST(ModuleTreeTest, ChildrenComeInTheOrderInWhichTheyWereAdded) {
  ModuleTree tree;
  tree.Add("b.x");
  tree.Add("a");
  tree.Add("b.y");
  tree.Add("10");
  std::vector<std::string_view> atoms;
  for (const ModuleId id : tree.Children(ModuleTree::kRoot)) {
    atoms.push_back(tree.Atom(id));
  }
  EXPECT_THAT(atoms, ElementsAre("b", "a", "10"));
  EXPECT_TRUE(tree.Children(tree.Find("a")).empty());
}

TEST(ModuleTreeTest, GoesDownAndUpByAtoms) {
  ModuleTree tree;
  const ModuleId query = tree.Add("layers.0.attn.query");
  const ModuleId layer = tree.Find("layers.0");
  EXPECT_THAT(tree.AtomsBelow(layer, query), ElementsAre("attn", "query"));
  EXPECT_THAT(tree.AtomsBelow(query, query), ElementsAre());
  EXPECT_EQ(tree.Down(layer, tree.AtomsBelow(layer, query)), query);
  EXPECT_EQ(tree.Down(layer, ModuleTree::Atoms{"attn", "key", "x"}),
            kNo<ModuleId>);
  EXPECT_EQ(tree.Without(query, ModuleTree::Atoms{"attn", "query"}), layer);
  EXPECT_EQ(tree.Without(query, ModuleTree::Atoms{"mlp", "query"}),
            kNo<ModuleId>);
  EXPECT_EQ(tree.Without(tree.Find("layers"), ModuleTree::Atoms{"a", "layers"}),
            kNo<ModuleId>);
  EXPECT_EQ(tree.Path(tree.AddDown(layer, ModuleTree::Atoms{"mlp", "fc"})),
            "layers.0.mlp.fc");
}

TEST(ModuleTreeTest, JoinsWhatIsKnown) {
  ModuleTree tree;
  const ModuleId query = tree.Add("attn.query");
  const ModuleId key = tree.Add("attn.key");
  EXPECT_EQ(tree.Join(query, key), tree.Find("attn"));
  EXPECT_EQ(tree.Join(kNo<ModuleId>, key), key);
  EXPECT_EQ(tree.Join(query, kNo<ModuleId>), query);
  EXPECT_EQ(tree.Join(kNo<ModuleId>, kNo<ModuleId>), kNo<ModuleId>);
}

TEST(ModuleTreeTest, AListHasNumberedChildrenOnly) {
  ModuleTree tree;
  tree.Add("layers.0.fc");
  tree.Add("layers.1");
  tree.Add("block.0");
  tree.Add("block.norm");
  EXPECT_TRUE(tree.IsList(tree.Find("layers")));
  EXPECT_FALSE(tree.IsList(tree.Find("block")));
  EXPECT_FALSE(tree.IsList(tree.Find("layers.1")));
}

TEST(ModuleTreeTest, AnUnknownClassIsEmpty) {
  ModuleTree tree;
  const ModuleId a = tree.Add("a");
  EXPECT_EQ(tree.Class(a), "");
  tree.SetClass(a, "Linear");
  tree.SetClass(ModuleTree::kRoot, "BertModel");
  EXPECT_EQ(tree.Class(a), "Linear");
  EXPECT_EQ(tree.Class(ModuleTree::kRoot), "BertModel");
}

TEST(ModuleTreeTest, ACopyLivesOnWithoutTheOriginal) {
  ModuleTree copy;
  std::string_view moved_atom;
  ModuleTree moved;
  {
    ModuleTree tree;
    const ModuleId id =
        tree.Add("encoder.a_name_too_long_for_the_small_buffer");
    tree.SetClass(id, "C");
    copy = tree;
    moved_atom = tree.Atom(id);
    moved = std::move(tree);
  }
  const ModuleId id = copy.Find("encoder.a_name_too_long_for_the_small_buffer");
  ASSERT_NE(id, kNo<ModuleId>);
  EXPECT_EQ(copy.Class(id), "C");
  EXPECT_EQ(copy.Atom(id), moved_atom);
  EXPECT_EQ(moved.Atom(id).data(), moved_atom.data());
  copy.Add("encoder.other");
  EXPECT_EQ(moved.Find("encoder.other"), kNo<ModuleId>);
}

TEST(ModuleTreeTest, OddPathsAreHarmless) {
  ModuleTree tree;
  EXPECT_EQ(tree.Add("..."), ModuleTree::kRoot);
  EXPECT_EQ(tree.Add("a..b."), tree.Add("a.b"));
  const std::string nul("a\0b", 3);
  EXPECT_EQ(tree.Path(tree.Add(nul)), nul);
  EXPECT_EQ(tree.Path(tree.Add("\xff\xc0")), "\xff\xc0");
}

// 100,000 modules a thousand deep: their paths would need 500 MB.
TEST(ModuleTreeTest, DeepTreesCostNoMoreThanWideOnes) {
  ModuleTree tree;
  ModuleId last = ModuleTree::kRoot;
  for (int chain = 0; chain < 100; ++chain) {
    ModuleId at = tree.Child(ModuleTree::kRoot, std::to_string(chain));
    for (int depth = 1; depth < 1000; ++depth) at = tree.Child(at, "inner");
    last = at;
  }
  EXPECT_EQ(tree.size(), 100001u);
  EXPECT_EQ(tree.Depth(last), 1000u);
  EXPECT_EQ(tree.Find(tree.Path(last)), last);
}

}  // namespace
}  // namespace onnx_tag
