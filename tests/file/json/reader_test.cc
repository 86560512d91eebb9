#include "file/json/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace onnx_tag::json {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text,
                    const std::function<void(Reader&)>& read) {
  try {
    Reader reader(text);
    read(reader);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

std::string SkipError(std::string_view text) {
  return ErrorOf(text, [](Reader& reader) { reader.Skip(); });
}

std::string StringIn(std::string_view text) { return Reader(text).String(); }

TEST(JsonReader, ReadsMembersInOrder) {
  // The mark is one at the start only.
  EXPECT_THROW(Reader(" \xEF\xBB\xBF{}"), Error);
  Reader marked("\xEF\xBB\xBF {\"b\": [1, 2.5e1, -0], \"a\": null}");
  marked.BeginObject();
  std::string_view key;
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

TEST(JsonReader, RestoresBytesThatAreNotUtf8) {
  EXPECT_EQ(StringIn(R"("a\uef80\uefff")"), "a\x80\xff");
  EXPECT_EQ(StringIn("\"\xEE\xBE\x80\""), "\x80");  // not escaped
  EXPECT_EQ(StringIn(R"("\uefee\uefbe\uef80")"), "\xEE\xBE\x80");
  EXPECT_EQ(StringIn(R"("\uef7f\uf000")"), "\xEE\xBD\xBF\xEF\x80\x80");
  // As 0.1 and Python wrote them.
  EXPECT_EQ(StringIn(R"("\udc80\uDCFF")"), "\x80\xff");
  EXPECT_EQ(StringIn(R"("\\udc80 \ud83d\udc80")"), "\\udc80 \xF0\x9F\x92\x80");
  EXPECT_EQ(StringIn(R"("\\\udc80")"), "\\\x80");
  EXPECT_THROW(Reader(R"("\udc00")"), Error);
}

TEST(JsonReader, FindsWhereAStringStarts) {
  // Quotes and backslashes before the end of a string with escapes.
  for (const std::string_view text :
       {R"(["\"", "a\"\"b", "\\\"", "\u0022x", "\\", ""])"}) {
    Reader reader(text);
    reader.BeginArray();
    while (reader.NextItem()) {
      Reader copy = reader;
      const std::string_view raw = reader.Skip();
      EXPECT_EQ(StringIn(raw), copy.String()) << raw;
    }
  }
}

TEST(JsonReader, SaysLineAndColumnInCharacters) {
  EXPECT_THAT(SkipError("{\n  \"\xC3\xA9\": x}"),
              HasSubstr("line 2, column 8: syntax error"));
  // The words for an empty text differ between versions of nlohmann_json.
  EXPECT_THAT(SkipError(""), HasSubstr("line 1, column 1: "));
  EXPECT_THAT(SkipError("[1"), HasSubstr("line 1, column 3: syntax error"));
  // Wrong contents have a place, too.
  EXPECT_EQ(ErrorOf("[\n  1, \"\\n\", {}]",
                    [](Reader& r) {
                      r.BeginArray();
                      r.NextItem();
                      r.Skip();
                      r.NextItem();
                      r.Skip();
                      r.NextItem();
                      r.String();
                    }),
            "line 2, column 12: an object where a string should be");
}

TEST(JsonReader, FindsPlacesThoughTheParserDoesNotSeeEveryByte) {
  EXPECT_THAT(SkipError("[,   1]"), HasSubstr("line 1, column 2: syntax"));
  EXPECT_THAT(SkipError("[\"ab\",   ]"),
              HasSubstr("line 1, column 10: syntax"));
  EXPECT_THAT(SkipError("[1\"23\", 4]"), HasSubstr("line 1, column 6: syntax"));
  EXPECT_THAT(SkipError("[\"ab\" \"c\"]"),
              HasSubstr("line 1, column 9: syntax"));
  Reader reader("[12,   345 , \"a b\",  \"\xC3\xA9, \\\"\",6]");
  reader.BeginArray();
  for (const std::string_view item :
       {"12", "345", "\"a b\"", "\"\xC3\xA9, \\\"\"", "6"}) {
    ASSERT_TRUE(reader.NextItem());
    EXPECT_EQ(reader.Skip(), item);
  }
  EXPECT_FALSE(reader.NextItem());
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
    std::string_view key;
    while (r.NextMember(key)) r.Skip();
  });
  EXPECT_EQ(error, "line 2, column 2: the key \"a\" occurs a second time");
}

TEST(JsonReader, RefusesRepeatedKeysWhereverTheyAre) {
  EXPECT_EQ(SkipError(R"([{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}])"), "");
  EXPECT_THAT(SkipError(R"([{"b": 1, "a": 1, "\u0061": 2}])"),
              HasSubstr("the key \"a\" occurs"));
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += fmt::format("\"{}\": 1, ", i);
  EXPECT_EQ(SkipError(many + "\"x\": 1}"), "");
  EXPECT_THAT(SkipError(many + "\"77\": 1}"),
              HasSubstr("the key \"77\" occurs"));
}

TEST(JsonReader, ReadsWholeNumbersExactly) {
  EXPECT_EQ(Reader("18446744073709551615").Whole(), UINT64_MAX);
  EXPECT_EQ(Reader("1e3").Whole(), 1000u);
  EXPECT_EQ(Reader("-0").Whole(), 0u);
  EXPECT_EQ(Reader("5").Whole(5), 5u);
  for (const std::string_view text : {"6", "-1", "0.5", "1e30"}) {
    EXPECT_THAT(ErrorOf(text, [](Reader& r) { r.Whole(5); }),
                HasSubstr("a whole number from 0 to 5 should be here"));
  }
}

TEST(JsonReader, ReadsADocumentThatIsCutOff) {
  const std::string text = R"([{"a": "x\n", "b": [1, 2]}, {"a": "y"}])";
  for (std::size_t size = 1; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    EXPECT_THROW(Reader{cut}, Error);
    Reader reader(cut, ErrorKind::kInput, Ending::kMayBeCutOff);
    std::string_view key;
    std::size_t whole = 0;
    reader.BeginArray();
    while (reader.NextItem()) {
      reader.BeginObject();
      while (reader.NextMember(key)) reader.Skip();
      whole += reader.cut_off() ? 0 : 1;
    }
    EXPECT_TRUE(reader.cut_off()) << cut;
    EXPECT_EQ(whole, size < 26 ? 0u : size < 38 ? 1u : 2u) << cut;
  }
  EXPECT_THROW(Reader("[1 2]", ErrorKind::kInput, Ending::kMayBeCutOff), Error);
}

TEST(JsonReader, RefusesAStringThatIsTooLong) {
  const std::string text =
      "\"" + std::string(Reader::kMaxToken + 10, 'a') + "\"";
  EXPECT_THAT(SkipError(text), HasSubstr("more than 16 MiB"));
  EXPECT_EQ(SkipError("\"" + std::string(1 << 20, 'a') + "\""), "");
}

// Whatever the bytes, an error or a document whose strings can be read.
TEST(JsonReader, CutOrChangedAnywhereItNeverReadsPastTheEnd) {
  const std::string text =
      R"({"a": [1, -2.5e3, "x\u00e9\udc80\ud83d\ude00"], "b": {"c": null}})";
  std::mt19937 random(2);
  for (std::size_t size = 0; size < text.size(); ++size) {
    // A copy of its own, so that a sanitizer sees every step too far.
    EXPECT_NE(
        SkipError(std::string(
            text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size))),
        "");
    for (int i = 0; i < 20; ++i) {
      std::string changed = text;
      changed[size] = static_cast<char>(random());
      SkipError(changed);
    }
  }
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
