#include "core/query/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "onnx_tag/error.h"

namespace onnx_tag::query {
namespace {

using ::testing::HasSubstr;

// The tree as text, with every parenthesis: "(a and (not b))".
std::string Tree(const Expression& expression, std::uint32_t at) {
  const Term& term = expression.terms[at];
  switch (term.kind) {
    case Kind::kCondition: {
      const Condition& condition = expression.conditions[term.first];
      std::string text(InfoOf(condition.field).name);
      text += std::array{"=", "<", "<=", ">",
                         ">="}[static_cast<std::size_t>(condition.comparison)];
      for (const Value& value : condition.values) text += value.text + ";";
      return text;
    }
    case Kind::kNot:
      return "not(" + Tree(expression, term.first) + ")";
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  return "(" + Tree(expression, term.first) +
         (term.kind == Kind::kAnd ? " and " : " or ") +
         Tree(expression, term.second) + ")";
}

std::string Parsed(const std::string& text) {
  const Expression expression = Parse(text);
  return Tree(expression,
              static_cast<std::uint32_t>(expression.terms.size() - 1));
}

std::string Refusal(const std::string& text) {
  try {
    Parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "parsed";
}

TEST(ParserTest, ReadsConditions) {
  EXPECT_EQ(Parsed("type=attention"), "type=attention;");
  EXPECT_EQ(Parsed("  layer >= 6 "), "layer>=6;");
  EXPECT_EQ(Parsed("layer<6"), "layer<6;");
  EXPECT_EQ(Parsed("op in (MatMul,Gemm)"), "op=MatMul;Gemm;");
  EXPECT_EQ(Parsed("op not in ( MatMul , Gemm )"), "not(op=MatMul;Gemm;)");
  EXPECT_EQ(Parsed("class!=Linear"), "not(class=Linear;)");
  EXPECT_EQ(Parsed("class == Linear"), "class=Linear;");
  EXPECT_EQ(Parsed("untagged"), "untagged=");
}

TEST(ParserTest, AndBindsBeforeOrAndNotBeforeBoth) {
  EXPECT_EQ(Parsed("op=A or op=B and not op=C"),
            "(op=A; or (op=B; and not(op=C;)))");
  EXPECT_EQ(Parsed("(op=A or op=B) and op=C"), "((op=A; or op=B;) and op=C;)");
  EXPECT_EQ(Parsed("not not untagged"), "not(not(untagged=))");
  EXPECT_EQ(Parsed("op=A or op=B or op=C"), "((op=A; or op=B;) or op=C;)");
}

TEST(ParserTest, ValuesMayLookLikeAnything) {
  EXPECT_EQ(Parsed("name=a<b=c!"), "name=a<b=c!;");
  EXPECT_EQ(Parsed("module=<root>"), "module=<root>;");
  EXPECT_EQ(Parsed("name='a b, (c)'"), "name=a b, (c);");
  EXPECT_EQ(Parsed(R"(name="it's \"so\" \\")"), R"(name=it's "so" \;)");
  EXPECT_EQ(Parsed("name=and or name=or"), "(name=and; or name=or;)");
  EXPECT_EQ(Parsed("name=''"), "name=;");
}

TEST(ParserTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(Refusal("type=attention and nam=x"),
            "unknown field 'nam', did you mean 'name'?\n"
            "  type=attention and nam=x\n"
            "                     ^^^");
  EXPECT_EQ(Refusal("type=atention"),
            "'atention' is not a valid type, did you mean 'attention'?\n"
            "  type=atention\n"
            "       ^^^^^^^^");
  EXPECT_EQ(Refusal("op=A op=B"),
            "expected 'and' or 'or' between conditions\n"
            "  op=A op=B\n"
            "       ^^");
  EXPECT_EQ(Refusal("(op=A"),
            "missing ')' for this '('\n"
            "  (op=A\n"
            "  ^");
  EXPECT_THAT(Refusal(""), HasSubstr("the query is empty"));
  EXPECT_THAT(Refusal("op="), HasSubstr("missing value for op"));
  EXPECT_THAT(Refusal("op"), HasSubstr("expected =, != or in after 'op'"));
  EXPECT_THAT(Refusal("layer"), HasSubstr("expected =, !=, <, <=, >, >="));
  EXPECT_THAT(Refusal("op<A"), HasSubstr("op has no order"));
  EXPECT_THAT(Refusal("op=A and"), HasSubstr("missing condition"));
  EXPECT_THAT(Refusal("op=A)"), HasSubstr("unmatched ')'"));
  EXPECT_THAT(Refusal("op in A"), HasSubstr("expected '(' after 'in'"));
  EXPECT_THAT(Refusal("op in (A"), HasSubstr("missing ')' for this '('"));
  EXPECT_THAT(Refusal("op in ()"), HasSubstr("missing value for op"));
  EXPECT_THAT(Refusal("op ! A"), HasSubstr("expected '!='"));
  EXPECT_THAT(Refusal("layer=first"), HasSubstr("expected a number or none"));
  EXPECT_THAT(Refusal("layer<none"), HasSubstr("expected a number or none"));
  EXPECT_THAT(Refusal("layer=-1"), HasSubstr("expected a number or none"));
  EXPECT_THAT(Refusal("untagged=yes"), HasSubstr("takes no value"));
  EXPECT_THAT(Refusal("name='a"), HasSubstr("missing closing quote"));
  EXPECT_THAT(Refusal("confidence=sure"), HasSubstr("low, medium, high"));
  EXPECT_THAT(Refusal("frobnicate=1"),
              HasSubstr("the fields are module, under"));
}

TEST(ParserTest, PatternsAndNoneAreValuesOfAnyField) {
  EXPECT_EQ(Parsed("type=*"), "type=*;");
  EXPECT_EQ(Parsed("attention=none"), "attention=none;");
  EXPECT_EQ(Parsed("layer=none"), "layer=none;");
  EXPECT_THAT(Refusal("type='*'"), HasSubstr("is not a valid type"));
  EXPECT_THAT(Refusal("confidence<c*"), HasSubstr("is not a valid confidence"));
}

TEST(ParserTest, PutsTheCaretUnderThePlaceWhateverIsBefore) {
  EXPECT_THAT(Refusal("name=größe nam=x"), HasSubstr("\n             ^^^"));
  EXPECT_THAT(Refusal("name=\x1b[2J nam"), HasSubstr("\n               ^^^"));
  const std::string long_query = "name=" + std::string(100'000, 'x') + " )";
  EXPECT_LT(Refusal(long_query).size(), 400u);
}

TEST(ParserTest, NestsOnlySoDeep) {
  EXPECT_NE(Refusal(std::string(100, '(') + "untagged" + std::string(100, ')')),
            "missing ')' for this '('");
  EXPECT_THAT(Refusal(std::string(100'000, '(')), HasSubstr("too deeply"));
  std::string nots;
  for (int i = 0; i < 100'000; ++i) nots += "not ";
  EXPECT_THAT(Refusal(nots + "untagged"), HasSubstr("too deeply"));
  // A long chain is not nested.
  std::string chain = "untagged";
  for (int i = 0; i < 20'000; ++i) chain += " or untagged";
  EXPECT_EQ(Refusal(chain), "parsed");
}

// Every query in docs/ is valid.
TEST(ParserTest, ReadsTheExamplesOfTheDocs) {
  int seen = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ONNX_TAG_DOCS)) {
    if (entry.path().extension() != ".md") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("onnx-tag query") &&
          !line.starts_with("onnx-tag select")) {
        continue;
      }
      const std::size_t open = line.find('\'');
      const std::size_t close = line.find('\'', open + 1);
      if (close == std::string::npos) continue;
      EXPECT_EQ(Refusal(line.substr(open + 1, close - open - 1)), "parsed")
          << line;
      ++seen;
    }
  }
  EXPECT_GT(seen, 8);
}

// Whatever words come in whatever order: parsed, or refused in a sentence.
TEST(ParserTest, RandomWordsNeverCrash) {
  const std::vector<std::string> words = {
      "module", "under",  "type",       "layer", "untagged",  "and", "or",
      "not",    "in",     "(",          ")",     ",",         "=",   "!=",
      "<",      ">=",     "*",          "**",    "'a b'",     "\"",  "'",
      "none",   "a.b.*",  "12",         "!",     "attention", "\\",  "\xff",
      "\n",     "\x1b[m", "confidence", "high",  "op",        "=="};
  std::mt19937 random(11);
  int parsed = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (std::uint32_t n = random() % 12; n > 0; --n) {
      text += words[random() % words.size()];
      if (random() % 2 == 0) text += ' ';
    }
    const std::string said = Refusal(text);
    EXPECT_EQ(said.find('\x1b'), std::string::npos);
    parsed += said == "parsed";
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace onnx_tag::query
