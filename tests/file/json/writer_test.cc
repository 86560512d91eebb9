#include "file/json/writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "file/json/reader.h"

namespace onnx_tag {
namespace {

using namespace std::string_literals;

std::string Quoted(std::string_view text) {
  return JsonWriter().String(text).Take();
}

// Written, accepted by a parser that is not ours, and read.
std::string ThereAndBack(std::string_view text) {
  const std::string quoted = Quoted(text);
  EXPECT_TRUE(nlohmann::json::accept(quoted)) << quoted;
  return json::Reader(quoted).String();
}

TEST(JsonTextTest, EscapesWhatJsonForbids) {
  EXPECT_EQ(Quoted("plain"), "\"plain\"");
  EXPECT_EQ(Quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Quoted("\n\r\t\x1b\x7f"), R"("\n\u000d\u0009\u001b\u007f")");
  EXPECT_EQ(Quoted("nul\0"s), R"("nul\u0000")");
  EXPECT_EQ(Quoted("größe 模型 🙂"), "\"größe 模型 🙂\"");
}

// What is written for a reader of YAML is JSON.
TEST(JsonTextTest, EscapesWhatYamlForbids) {
  EXPECT_EQ(Quoted("a\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"),
            "\"a\\ufffe\\uffff\xef\xbf\xbd\"");
  EXPECT_EQ(Quoted("\xc2\x85\xc2\x9f\xc2\xa0"), "\"\\u0085\\u009f\xc2\xa0\"");
  EXPECT_EQ(ThereAndBack("\xef\xbf\xbe\xc2\x80"), "\xef\xbf\xbe\xc2\x80");
}

TEST(JsonTextTest, BytesThatAreNotUtf8BecomePrivateCharacters) {
  EXPECT_EQ(Quoted("\x80\xff"), R"("\uef80\uefff")");
  EXPECT_EQ(Quoted("a\xc3"), R"("a\uefc3")") << "cut short";
  EXPECT_EQ(Quoted("\xc0\xaf"), R"("\uefc0\uefaf")") << "overlong";
  EXPECT_EQ(Quoted("\xed\xa0\x80"), R"("\uefed\uefa0\uef80")") << "surrogate";
  // So are the bytes of such a character itself, and of no other.
  EXPECT_EQ(Quoted("\xEE\xBE\x80"), R"("\uefee\uefbe\uef80")");
  EXPECT_EQ(Quoted("\xEE\xBD\xBF\xEF\x80\x80"), "\"\xEE\xBD\xBF\xEF\x80\x80\"");
}

TEST(JsonTextTest, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(ThereAndBack(all), all);
  for (const std::string& text :
       {""s, "\\"s, "\\\\udc80"s, "\\udc80"s, "\\uef80"s, "\xEE\xBE\x80"s,
        "\xEE\xBF\xBF\xEE\xBE"s, "🙂\xff🙂"s,
        "\xEE\xBE\xEE\xBE\x80\x80"s}) {
    EXPECT_EQ(ThereAndBack(text), text) << Quoted(text);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = "\xEE\xBE\xBF\x80 \\\"u"[random() % 8];
    EXPECT_EQ(ThereAndBack(text), text) << Quoted(text);
  }
}

}  // namespace
}  // namespace onnx_tag
