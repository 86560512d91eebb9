#include "mapping/clues/clues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;

Claim Says(std::uint32_t node, std::uint32_t module, Confidence level,
           std::string_view because = "it is known") {
  return {NodeId{node}, ModuleId{module}, level, Source::kScope, because};
}

std::vector<std::uint32_t> Modules(const std::vector<Clue>& clues) {
  std::vector<std::uint32_t> modules;
  for (const Clue& clue : clues) {
    modules.push_back(static_cast<std::uint32_t>(clue.module));
  }
  return modules;
}

TEST(Clues, StrongerKindWinsWhateverTheLevels) {
  Clues clues(2);
  EXPECT_EQ(clues.Strongest(NodeId{0}), nullptr);
  clues.Add(WriterId::kParameter, Says(0, 1, Confidence::kHigh));
  clues.Add(WriterId::kScope, Says(0, 2, Confidence::kMedium));
  ASSERT_NE(clues.Strongest(NodeId{0}), nullptr);
  EXPECT_EQ(clues.Strongest(NodeId{0})->module, ModuleId{2});
  EXPECT_EQ(clues.Strongest(NodeId{0})->kind, EvidenceKind::kName);
  EXPECT_EQ(clues.Strongest(NodeId{1}), nullptr);
}

TEST(Clues, FirstOfOneKindWins) {
  Clues clues(1);
  clues.Add(WriterId::kDialect, Says(0, 1, Confidence::kLow));
  clues.Add(WriterId::kScope, Says(0, 2, Confidence::kHigh));
  EXPECT_EQ(clues.Strongest(NodeId{0})->module, ModuleId{1});
  EXPECT_THAT(Modules(clues.Of(NodeId{0})), ElementsAre(1, 2));
}

TEST(Clues, AreSortedByNodeThenKind) {
  Clues clues(3);
  clues.Add(WriterId::kCalled, Says(2, 1, Confidence::kHigh));
  clues.Add(WriterId::kMetadata, Says(0, 2, Confidence::kHigh));
  clues.Add(WriterId::kMetadata, Says(2, 3, Confidence::kCertain));
  clues.Add(WriterId::kRule, Says(0, 4, Confidence::kCertain));
  EXPECT_THAT(Modules(clues.Sorted()), ElementsAre(4, 2, 3, 1));
}

TEST(Clues, WhatIsConfirmedHasAStrongerKind) {
  for (const WriterId from :
       {WriterId::kMetadata, WriterId::kDialect, WriterId::kScope}) {
    EXPECT_LT(KindOf(from, Confidence::kCertain),
              KindOf(from, Confidence::kHigh));
  }
}

TEST(Clues, StoresEqualReasonsOnce) {
  Clues clues;
  for (const char* const why : {"one", "two", "one", "one"}) {
    clues.Add(WriterId::kScope, Says(0, 1, Confidence::kLow, std::string(why)));
  }
  std::vector<std::string> reasons;
  std::vector<ReasonId> ids;
  for (const Clue& clue : clues.From(WriterId::kScope)) {
    reasons.push_back(clues.Why(clue));
    ids.push_back(clue.why);
  }
  EXPECT_THAT(reasons, ElementsAre("one", "two", "one", "one"));
  EXPECT_EQ(ids[0], ids[3]);
}

TEST(Clues, TakesBackTheWordsOfOneWriter) {
  Clues clues;
  clues.Add(WriterId::kScope, Says(0, 1, Confidence::kLow));
  clues.Add(WriterId::kCalled, Says(0, 2, Confidence::kLow));
  clues.Add(WriterId::kScope, Says(1, 3, Confidence::kLow));
  clues.TakeBack(WriterId::kScope,
                 [](const Clue& clue) { return clue.node == NodeId{0}; });
  EXPECT_FALSE(clues.From(WriterId::kCalled).empty());
  std::vector<ModuleId> left;
  for (const Clue& clue : clues.From(WriterId::kScope)) {
    left.push_back(clue.module);
  }
  EXPECT_THAT(left, ElementsAre(ModuleId{3}));
}

}  // namespace
}  // namespace onnx_tag
