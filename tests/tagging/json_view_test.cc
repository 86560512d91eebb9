#include "tagging/json_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "onnx_tag/error.h"
#include "tagging/json_text.h"

namespace onnx_tag {
namespace {

using testing::HasSubstr;

bool IsJson(std::string_view text) {
  try {
    JsonCursor cursor(text);
    cursor.Value();
    cursor.End();
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(JsonViewTest, DecodesWhatWasEncoded) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = static_cast<char>(random() % (i % 2 ? 256 : 128));
    std::string json;
    AppendJsonString(json, text);
    JsonCursor cursor(json);
    EXPECT_EQ(cursor.Value().Text(), text) << json;
  }
}

TEST(JsonViewTest, Escapes) {
  const auto decode = [](std::string_view json) {
    JsonCursor cursor(json);
    return cursor.Value().Text();
  };
  EXPECT_EQ(decode(R"("\b\f\n\r\t\"\\\/")"), "\b\f\n\r\t\"\\/");
  EXPECT_EQ(decode(R"("\u00e9\uD83D\ude00")"), "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(decode(R"("\udcff")"), "\xff");
  EXPECT_EQ(decode("\"\xf4\x8f\xbd\xbf\""), "\xf4\x8f\xbd\xbf");
}

// nlohmann-json is the oracle, but for lone surrogates.
TEST(JsonViewTest, TakesAndRefusesWhatAnotherParserDoes) {
  const char* const texts[] = {"",
                               " ",
                               "{",
                               "}",
                               "[",
                               "]",
                               "null",
                               "nul",
                               "nulll",
                               "true",
                               "false",
                               "0",
                               "-1",
                               "1.5e-7",
                               "1.",
                               ".5",
                               "-",
                               "+1",
                               "1e",
                               "[1,]",
                               "[1 2]",
                               "[,1]",
                               "{\"a\":1}",
                               "{\"a\" 1}",
                               "{a:1}",
                               "{\"a\":}",
                               "{\"a\":1,}",
                               "\"\\x\"",
                               "\"\\u12\"",
                               "\"\\ud800\"",
                               "\"\\ud800\\u0041\"",
                               "\"\n\"",
                               "\"abc",
                               "\"\xff\"",
                               "\"\xc3\xa9\"",
                               "[[[]]]",
                               "[] []",
                               "\"a\" ",
                               "{\"a\":[1,{\"b\":null}]}",
                               "\"\\udc00\"",
                               "\t\r\n[\n]\t"};
  for (const char* const text : texts) {
    EXPECT_EQ(IsJson(text), nlohmann::json::accept(text)) << text;
  }
  EXPECT_FALSE(IsJson(std::string(100'000, '[')));
  EXPECT_FALSE(IsJson(std::string_view("\0", 1)));
}

TEST(JsonViewTest, CutOrChangedAnywhereItNeverReadsPastTheEnd) {
  const std::string text =
      R"({"a": [1, -2.5e3, "x\u00e9\udc80\ud83d\ude00"], "b": {"c": null}})";
  std::mt19937 random(2);
  for (std::size_t size = 0; size < text.size(); ++size) {
    // A copy of its own, so that a sanitizer sees every step too far.
    EXPECT_FALSE(IsJson(std::string(
        text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size))));
    for (int i = 0; i < 20; ++i) {
      std::string changed = text;
      changed[size] = static_cast<char>(random());
      if (IsJson(changed)) JsonObject(JsonView(changed)).find("a");
    }
  }
}

TEST(JsonViewTest, TheLastOfEqualMembersCounts) {
  JsonCursor cursor(R"({"a": 1, "b": 2, "\u0061": 3})");
  const JsonObject object(cursor.Value());
  EXPECT_EQ(object.find("a")->text(), "3");
  EXPECT_EQ(object.find("b")->text(), "2");
  EXPECT_EQ(object.find("c"), nullptr);
}

TEST(JsonViewTest, SaysWhere) {
  try {
    JsonCursor cursor("{\n  \"a\": nope}");
    cursor.Value();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("parse error at line 2, column 8: "));
  }
}

}  // namespace
}  // namespace onnx_tag
