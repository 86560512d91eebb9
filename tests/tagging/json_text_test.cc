#include "tagging/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/lone_surrogates.h"

namespace onnx_tag::test {
namespace {

using namespace std::string_literals;

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

// Written, parsed by a parser that is not ours, and restored.
std::string ThereAndBack(std::string_view text) {
  std::string storage;
  const std::string quoted = Quoted(text);
  const std::string_view json = HideLoneSurrogates(quoted, storage);
  return RestoreBytes(nlohmann::json::parse(json).get<std::string>());
}

TEST(JsonTextTest, EscapesWhatJsonForbids) {
  EXPECT_EQ(Quoted("plain"), "\"plain\"");
  EXPECT_EQ(Quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Quoted("\n\r\t\x1b\x7f"), R"("\n\u000d\u0009\u001b\u007f")");
  EXPECT_EQ(Quoted("nul\0"s), R"("nul\u0000")");
  EXPECT_EQ(Quoted("größe 模型 🙂"), "\"größe 模型 🙂\"");
}

TEST(JsonTextTest, BytesThatAreNotUtf8BecomeLoneSurrogates) {
  EXPECT_EQ(Quoted("\x80\xff"), R"("\udc80\udcff")");
  EXPECT_EQ(Quoted("a\xc3"), R"("a\udcc3")") << "cut short";
  EXPECT_EQ(Quoted("\xc0\xaf"), R"("\udcc0\udcaf")") << "overlong";
  EXPECT_EQ(Quoted("\xed\xa0\x80"), R"("\udced\udca0\udc80")") << "surrogate";
}

TEST(JsonTextTest, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(ThereAndBack(all), all);
  for (const std::string& text :
       {""s, "\\"s, "\\\\udc80"s, "\\udc80"s, "\xf4\x8f\xbe\x80"s,
        "\xf4\x8f\xbd\xbf"s, "\xf4\x8f\xbd\xbf\xf4\x8f\xbd\xbf"s,
        "\xf4\x8f\xbd\xbf\x80"s, "\x80\xf4\x8f\xbd\xbf"s, "🙂\xff🙂"s,
        "\xf4\x8f\xbd\xbf\xf4\x8f\xbe\x80"s, "\xf4\x8f\xbf\xbf"s}) {
    EXPECT_EQ(ThereAndBack(text), text) << Quoted(text);
  }
}

TEST(JsonTextTest, OtherWritersEscapesComeThrough) {
  const auto read = [](std::string_view json) {
    std::string storage;
    return RestoreBytes(nlohmann::json::parse(HideLoneSurrogates(json, storage))
                            .get<std::string>());
  };
  EXPECT_EQ(read(R"("\ud83d\ude42")"), "🙂");
  EXPECT_EQ(read(R"("\uDBFF\uDF7F")"), "\xf4\x8f\xbd\xbf");
  EXPECT_EQ(read(R"("\udbff\udfff")"), "\xf4\x8f\xbf\xbf");
  EXPECT_EQ(read(R"("\uDC80x")"), "\x80x");
}

// Lone high surrogates, text cut in an escape: the parser's to refuse.
TEST(JsonTextTest, BrokenEscapesDoNoHarm) {
  for (const std::string_view json :
       {"\\", "\\u", "\\ud8", "\\ud800", "\"\\ud800\"", "\\udbff\\udff", "\xf4",
        "\xf4\x8f\xbf"}) {
    std::string storage;
    EXPECT_NO_THROW(HideLoneSurrogates(json, storage));
    EXPECT_NO_THROW(RestoreBytes(std::string(json)));
  }
}

}  // namespace
}  // namespace onnx_tag::test
