#include "onnx_tag/interner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_tag {
namespace {

enum class WordId : std::uint32_t {};

TEST(InternerTest, EqualTextsHaveOneIdAndDifferentTextsHaveTwo) {
  Interner<WordId> words;
  const WordId a = words.Intern("conv");
  const WordId b = words.Intern("conv1");
  EXPECT_NE(a, b);
  EXPECT_EQ(words.Intern(std::string("conv")), a);
  EXPECT_EQ(words[b], "conv1");
  EXPECT_EQ(words.Find("conv1"), b);
  EXPECT_EQ(words.Find("conv2"), kNo<WordId>);
}

TEST(InternerTest, APreparedTextHasTheSameId) {
  Interner<WordId> words;
  const std::uint32_t hash = words.Prepare("conv");
  const WordId id = words.Intern("conv", hash);
  EXPECT_EQ(words.Intern("conv"), id);
  EXPECT_EQ(words.Intern("conv", words.Prepare("conv")), id);
}

TEST(InternerTest, IdsSurviveGrowth) {
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back("name_" + std::to_string(i));
  Interner<WordId> words;
  for (const std::string& text : texts) words.Intern(text);
  ASSERT_EQ(words.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(Index(words.Find(texts[i])), i);
  }
}

TEST(InternerTest, TextsThatShareAPaddedTailDiffer) {
  using std::string_view_literals::operator""sv;
  Interner<WordId> words;
  EXPECT_NE(words.Intern("ab"sv), words.Intern("ab\0"sv));
  EXPECT_NE(words.Intern(""sv), words.Intern("\0"sv));
}

}  // namespace
}  // namespace onnx_tag
