#include "base/union_find.h"

#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

enum class TestId : std::uint32_t {};

TEST(UnionFindTest, TheSmallestIdStandsForItsGroup) {
  UnionFind<TestId> groups(5);
  groups.Join(TestId{4}, TestId{2});
  groups.Join(TestId{3}, TestId{4});
  EXPECT_EQ(groups.Find(TestId{3}), TestId{2});
  EXPECT_EQ(groups.Find(TestId{2}), TestId{2});
  EXPECT_EQ(groups.Find(TestId{1}), TestId{1});
}

}  // namespace
}  // namespace onnx_tag
