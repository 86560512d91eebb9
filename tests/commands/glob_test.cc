#include "commands/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace onnx_tag {
namespace {

TEST(GlobTest, OneStarStaysWithinAName) {
  EXPECT_TRUE(MatchesGlob("encoder.layer.*", "encoder.layer.0"));
  EXPECT_FALSE(MatchesGlob("encoder.layer.*", "encoder.layer.0.attention"));
  EXPECT_TRUE(MatchesGlob("*", "encoder"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_FALSE(MatchesGlob("*", "a.b"));
  EXPECT_TRUE(MatchesGlob("enc*.*.?", "encoder.layer.0"));
  EXPECT_FALSE(MatchesGlob("a?b", "a.b"));
}

TEST(GlobTest, TwoStarsCrossNames) {
  EXPECT_TRUE(MatchesGlob("encoder.**", "encoder.layer.0.attention"));
  EXPECT_TRUE(MatchesGlob("**.query", "encoder.layer.0.attention.self.query"));
  EXPECT_TRUE(MatchesGlob("**", ""));
  EXPECT_FALSE(MatchesGlob("encoder.**", "encoder"));
  EXPECT_TRUE(MatchesGlob("***", "a.b"));
}

TEST(GlobTest, TheRestIsTakenAsItIs) {
  EXPECT_TRUE(MatchesGlob("", ""));
  EXPECT_FALSE(MatchesGlob("", "a"));
  EXPECT_FALSE(MatchesGlob("a", ""));
  EXPECT_TRUE(MatchesGlob("a[0]", "a[0]"));
}

// Backtracking would take longer than the universe has.
TEST(GlobTest, ManyStarsAreNoTrap) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesGlob(pattern + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace onnx_tag
