#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace onnx_tag {
namespace {

TEST(PrintableTest, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("/encoder/layer.0/MatMul"), "/encoder/layer.0/MatMul");
  EXPECT_EQ(Printable("a\x1b[2Jb\n\tc\x7f"), "a\\x1b[2Jb\\x0a\\x09c\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");           // C1: CSI
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left
  EXPECT_EQ(Printable("größe"), "größe");
}

TEST(PrintableTest, EscapesInvalidUtf8ByteByByte) {
  EXPECT_EQ(Printable("\x80"), "\\x80");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(Printable("caf\xe9"), "caf\\xe9");
}

TEST(PrintableTest, CutsLongTextInTheMiddle) {
  const std::string cut = Printable(std::string(5000, 'a') + "end", 300);
  EXPECT_LT(cut.size(), 400u);
  EXPECT_TRUE(cut.ends_with("end"));
}

TEST(NearestWordTest, SuggestsANearWordAndNothingElse) {
  constexpr std::array<std::string_view, 3> kWords = {"tag", "strip", "show"};
  EXPECT_EQ(NearestWord("shwo", kWords), "show");
  EXPECT_EQ(NearestWord("stirp", kWords), "strip");
  EXPECT_EQ(NearestWord("strop it", kWords), "");
  EXPECT_EQ(NearestWord("strp", kWords), "strip");
  EXPECT_EQ(NearestWord("explain", kWords), "");
}

TEST(CountTest, HasThousandsAndAPlural) {
  EXPECT_EQ(Count(1, "node"), "1 node");
  EXPECT_EQ(Count(1234567, "node"), "1,234,567 nodes");
  EXPECT_EQ(Count(0, "file"), "0 files");
}

TEST(MessageTest, QuotesNamesAndNothingElse) {
  const std::string name = "a\n  do this\x1b[2J";
  EXPECT_EQ(Message("{}: {} of {:.1f}", name, 3, 0.25),
            "a\\x0a  do this\\x1b[2J: 3 of 0.2");
  EXPECT_EQ(Message("{}{}", "x", Ours{"\n  see --help"}), "x\n  see --help");
  // What was quoted once stays as it is.
  EXPECT_EQ(Message("{}", Message("{}", name)), Message("{}", name));
  EXPECT_EQ(Message("{}", Short{std::string(500, 'a'), 90}).size(),
            90 + std::string_view("…").size());
  EXPECT_LT(Message("{}", std::string(5000, 'a')).size(), 1010u);
}

TEST(DidYouMeanTest, SaysSomethingElseWhereNoWordIsSimilar) {
  const std::vector<std::string_view> words = {"show", "strip"};
  EXPECT_EQ(DidYouMean("shwo", words, "!"), ", did you mean 'show'?");
  EXPECT_EQ(DidYouMean("explain", words, "!"), "!");
  const std::vector<std::string_view> long_words = {"enhanced_semantic"};
  EXPECT_EQ(DidYouMean("enhanced", long_words),
            ", did you mean 'enhanced_semantic'?");
}

}  // namespace
}  // namespace onnx_tag
