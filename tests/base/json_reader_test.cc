#include "base/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace onnx_tag::json {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text,
                    const std::function<void(Reader&)>& read) {
  Reader reader(text);
  try {
    read(reader);
    reader.End();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

std::string SkipError(std::string_view text) {
  return ErrorOf(text, [](Reader& reader) { reader.Skip(); });
}

TEST(JsonReader, ReadsMembersInOrder) {
  Reader reader(" \xEF\xBB\xBF{}");
  EXPECT_THROW(reader.Peek(), Error);  // the mark is one at the start only
  Reader marked("\xEF\xBB\xBF {\"b\": [1, 2.5e1, -0], \"a\": null}");
  marked.BeginObject();
  std::string key;
  ASSERT_TRUE(marked.NextMember(key));
  EXPECT_EQ(key, "b");
  marked.BeginArray();
  ASSERT_TRUE(marked.NextItem());
  EXPECT_EQ(marked.Count(), 1u);
  ASSERT_TRUE(marked.NextItem());
  EXPECT_EQ(marked.Number(), 25.0);
  ASSERT_TRUE(marked.NextItem());
  EXPECT_EQ(marked.Number(), 0.0);
  EXPECT_FALSE(marked.NextItem());
  ASSERT_TRUE(marked.NextMember(key));
  EXPECT_EQ(key, "a");
  marked.Null();
  EXPECT_FALSE(marked.NextMember(key));
  marked.End();
}

TEST(JsonReader, UndoesEscapes) {
  Reader reader(
      R"(["\"\\\/\b\f\n\r\t", "\u00e9\u20ac\ud83d\ude00", "\udc80"])");
  reader.BeginArray();
  ASSERT_TRUE(reader.NextItem());
  EXPECT_EQ(reader.String(), "\"\\/\b\f\n\r\t");
  ASSERT_TRUE(reader.NextItem());
  EXPECT_EQ(reader.String(), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  ASSERT_TRUE(reader.NextItem());
  EXPECT_EQ(reader.String(), "\x80");  // a byte that was no UTF-8
}

TEST(JsonReader, SaysLineAndColumnInCharacters) {
  EXPECT_THAT(SkipError("{\n  \"\xC3\xA9\": x}"),
              HasSubstr("line 2, column 8: 'x' where a value should be"));
  EXPECT_THAT(SkipError(""), HasSubstr("line 1, column 1: the file ends"));
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"{",      "[1,]",    "{\"a\":1,}",  "{\"a\" 1}",   "{a:1}",
        "[1 2]",  "01",      "1.",          "-",           "+1",
        ".5",     "1e",      "tru",         "nulL",        "\"a",
        "\"\n\"", "\"\\x\"", "\"\\u12g4\"", "\"\\ud800\"", "[] []",
        "'a'",    "NaN",     "// no\n1"}) {
    EXPECT_NE(SkipError(text), "") << text;
  }
}

TEST(JsonReader, RefusesAKeyThatStandsTwice) {
  const std::string error = ErrorOf("{\"a\": 1,\n \"a\": 2}", [](Reader& r) {
    r.BeginObject();
    std::string key;
    while (r.NextMember(key)) r.Skip();
  });
  EXPECT_EQ(error, "line 2, column 2: the key \"a\" stands here a second time");
}

TEST(JsonReader, SaysWhichKindShouldBeThere) {
  EXPECT_EQ(ErrorOf("[]", [](Reader& r) { r.String(); }),
            "line 1, column 1: a list where a string should be");
  EXPECT_NE(ErrorOf("1.5", [](Reader& r) { r.Count(); }), "");
  EXPECT_NE(ErrorOf("-1", [](Reader& r) { r.Count(); }), "");
}

TEST(JsonReader, RefusesDeepNestingWithoutUsingTheStack) {
  EXPECT_THAT(SkipError(std::string(1'000'000, '[')),
              HasSubstr("nested more than 1000 levels deep"));
  EXPECT_EQ(SkipError(std::string(1000, '[') + std::string(1000, ']')), "");
}

}  // namespace
}  // namespace onnx_tag::json
