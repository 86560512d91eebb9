#include "catalogue_maker/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mapping/classes/catalogue/table.h"
#include "onnx_tag/error.h"

namespace onnx_tag::catalogue {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTorch =
    "version\ta\ttransformers\t4.30.2\n"
    "version\tb\ttransformers\t5.0.0\n"
    "table\tACT\tReLU|GELU~b\n"
    "\n"
    "@ torch.nn\ttorch.nn\ttorch\n"
    "GELU\n"
    "Linear\t\tweight,bias?\n"
    "ModuleList\n"
    "ReLU\n"
    "\n";

std::string Small(std::string_view more) {
  return std::string(kTorch) + std::string(more);
}

// Well aligned for `Table`.
std::vector<std::uint64_t> Packed(std::string_view text) {
  const std::string bytes = PackTable(ReadSource(text));
  std::vector<std::uint64_t> words((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words.data()));
  return words;
}

Table TableOf(const std::vector<std::uint64_t>& words) {
  return Table({reinterpret_cast<const char*>(words.data()), 8 * words.size()});
}

std::string ErrorOf(std::string_view text) {
  try {
    ReadSource(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SourceTest, ATableHasWhatTheTextSays) {
  const auto words = Packed(Small(
      "@ lib.models.net.modeling_net\tlib.net\tlib\tNet,NetWide\t7\n"
      "!NetModel\tNet~b\tscale??\t-steps\thead?~b=Linear+wb layer.*=NetLayer\n"
      "NetLayer\t\t\t\tact=ReLU|ACT dense=Linear+w|torch.nn:Linear+wb~a\n"));
  const Table table = TableOf(words);
  const auto models = table.Namesakes(table.FindText("NetModel"));
  ASSERT_EQ(models.size(), 1U);
  const ClassId model = models[0];
  EXPECT_EQ(table.Name(model), "NetModel");
  EXPECT_EQ(table[model].mark, Mark::kListed);
  EXPECT_EQ(table[model].versions, 2);
  EXPECT_EQ(table.SectionOf(model).rank, 7U);
  EXPECT_EQ(table.FamilyWord("NetLayer"), "Net");
  EXPECT_EQ(table.FamilyWord("Linear"), "");

  ASSERT_EQ(table.Parameters(model).size(), 2U);
  EXPECT_EQ(table.Parameters(model)[0].optional, Optional::kInChanged);
  EXPECT_TRUE(table.Parameters(model)[1].buffer);

  // `layer` has no entry of its own: it is a list that is always there.
  ASSERT_EQ(table.Members(model).size(), 2U);
  for (const MemberRecord& member : table.Members(model)) {
    if (table.Text(member.name) == "head") {
      EXPECT_EQ(member.optional, Optional::kInDefault);
      continue;
    }
    EXPECT_EQ(table.Text(member.name), "layer");
    EXPECT_EQ(table.Name(table.Alternatives(member)[0].target), "ModuleList");
    ASSERT_EQ(table.Members(member).size(), 1U);
    const MemberRecord& item = table.Members(member)[0];
    EXPECT_EQ(item.name, Table::kAnyIndex);
    EXPECT_EQ(table.Name(table.Alternatives(item)[0].target), "NetLayer");
  }

  const auto owners = table.Owners(table.FindText("dense"));
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(table.Name(owners[0]), "NetLayer");
  EXPECT_EQ(table.FindText("nowhere"), kNo<TextId>);
}

TEST(SourceTest, AlternativesKeepTheirOrderMasksAndTables) {
  const auto words = Packed(
      Small("@ lib.net\tnet\tlib\n"
            "NetLayer\t\t\t\tact=ReLU|ACT dense=Linear+w|Linear+wb^~a\n"));
  const Table table = TableOf(words);
  const ClassId layer = table.Namesakes(table.FindText("NetLayer"))[0];
  for (const MemberRecord& member : table.Members(layer)) {
    const auto alternatives = table.Alternatives(member);
    ASSERT_EQ(alternatives.size(), 2U);
    if (table.Text(member.name) == "act") {
      EXPECT_GE(alternatives[1].target, kFirstTable);
      const auto entries = table.TableEntries(alternatives[1].target);
      ASSERT_EQ(entries.size(), 2U);
      EXPECT_EQ(table.Name(entries[1].target), "GELU");
      EXPECT_EQ(entries[1].versions, 2);
    } else {
      EXPECT_EQ(alternatives[0].own, kOwnSaid | kOwnWeight);
      EXPECT_EQ(alternatives[1].own, kOwnSaid | kOwnWeight | kOwnBias);
      EXPECT_EQ(alternatives[1].place, Place::kFirst);
      EXPECT_EQ(alternatives[1].versions, 1);
    }
  }
}

TEST(SourceTest, AMalformedLineIsNamed) {
  struct Case {
    std::string_view more;
    std::string_view error;
  };
  // The lines of kTorch are ten.
  const Case cases[] = {
      {"@ lib.net\tnet\tlib\nNet\t\t\t\tx=Nowhere\n",
       "line 12: no class 'Nowhere'"},
      {"@ lib.net\tnet\tlib\nNet\nNet\n", "line 13: class 'Net' comes twice"},
      {"@ lib.net\tnet\tlib\n@ lib.net\tnet\tlib\n", "line 12: section 'net'"},
      {"@ lib.net\tnet\tlib\nNet\t\t\t\tx\n", "line 12: 'x' is no member"},
      {"@ lib.net\tnet\tlib\nNet\t~z\n",
       "line 12: no version has the letter 'z'"},
      {"@ lib.net\tnet\tlib\nNet\t\t\t\tx=Linear+q\n",
       "line 12: '+q' is none of"},
      {"@ lib.net\tnet\tlib\nNet\t\t\t\tx=ReLU x=ReLU\n",
       "line 12: member 'x' comes twice"},
      {"@ lib.net\tnet\tlib\nNet%4\n",
       "line 12: '%' needs two hexadecimal digits"},
      {"@ lib.net\tnet\tlib\t\tmany\n", "line 11: 'many' is not a number"},
      {"@ lib.net\tnet\tlib\nNet\t\t\t\t\t\n",
       "line 12: more than five columns"},
      {"@ lib.a\ta\tlib\nX\n@ lib.b\tb\tlib\nX\n@ "
       "lib.c\tc\tlib\nNet\t\t\t\tx=X\n",
       "line 16: 'X' is the name of 2 classes"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ErrorOf(Small(c.more)), HasSubstr(c.error)) << c.more;
  }
  EXPECT_THAT(ErrorOf("Net\n"), HasSubstr("line 1: a class before"));
  EXPECT_THAT(ErrorOf("version\tb\tx\t1\n"), HasSubstr("line 1: version 'b'"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no class"));
}

TEST(SourceTest, SizesAreReadForKnownFamiliesOnly) {
  Source source = ReadSource(Small("@ lib.net\ttf.net\tlib\nNet\n"));
  ReadSizes(
      "# comment\nnet\t30522\t512\t-\tname\tconfig\n"
      "other\t1\t2\t3\tname\tconfig\n",
      source);
  ASSERT_EQ(source.sizes.size(), 1U);
  EXPECT_EQ(source.sizes[0].vocabulary, 30522U);
  EXPECT_EQ(source.sizes[0].types, kNoRows);
  EXPECT_THROW(ReadSizes("net\tmany\t1\t2\n", source), Error);
  EXPECT_THROW(ReadSizes("net\t1\n", source), Error);
}

TEST(TableTest, BytesThatAreNoTableAreRefused) {
  EXPECT_THROW(Table("nothing"), Error);
  std::vector<std::uint64_t> words =
      Packed(Small("@ lib.net\tnet\tlib\nNet\n"));
  words.resize(words.size() / 2);
  EXPECT_THROW(TableOf(words), Error);
}

TEST(TableTest, TheBuiltInTableKnowsBert) {
  const Table& table = BuiltIn();
  EXPECT_GT(table.class_count(), 5000U);
  const auto bert = table.Namesakes(table.FindText("BertModel"));
  ASSERT_EQ(bert.size(), 1U);
  EXPECT_EQ(table.Text(table.Family(bert[0])), "transformers.models.bert");
  EXPECT_EQ(table.FamilyWord("BertSelfAttention"), "Bert");
  EXPECT_EQ(table.FamilyWord("XLMRobertaSelfAttention"), "XLMRoberta");
}

}  // namespace
}  // namespace onnx_tag::catalogue
