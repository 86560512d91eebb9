#include "mapping/placing/words.h"

#include <gtest/gtest.h>

#include <array>

#include "mapping/placing/scene.h"

namespace onnx_tag::placing {
namespace {

using Ids = std::array<std::uint16_t, kWordsOfName>;

Ids WordsOf(std::string_view atom) {
  Ids ids;
  SetWords(atom, ids.data());
  return ids;
}

// The numbers are part of the network's format.
TEST(Words, HashIsFnv) {
  EXPECT_EQ(HashWord(""), 2166136261u);
  EXPECT_EQ(HashWord("a"), 0xe40c292cu);
}

TEST(Words, OfAnAtom) {
  EXPECT_EQ(WordsOf("layerNorm"), WordsOf("layer_norm"));
  EXPECT_EQ(WordsOf("conv12"), WordsOf("conv3"));
  EXPECT_EQ(WordsOf("12"), WordsOf("3"));
  EXPECT_NE(WordsOf("conv12"), WordsOf("conv"));
  EXPECT_NE(WordsOf("^"), WordsOf("-"));
  EXPECT_EQ(WordsOf("")[0], WordsOf("__")[0]);
  EXPECT_EQ(WordsOf("norm")[1], 0);
}

TEST(Words, AtMostThree) {
  EXPECT_EQ(WordsOf("a_b_c_d_e"), WordsOf("a_b_c"));
  EXPECT_NE(WordsOf("a_b_c")[2], 0);
}

TEST(Words, AreIdsOfTheTable) {
  for (const std::uint16_t id : WordsOf("self_attention_layer")) {
    EXPECT_GT(id, 0);
    EXPECT_LT(id, kWords);
  }
}

}  // namespace
}  // namespace onnx_tag::placing
