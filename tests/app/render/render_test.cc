// Results made by hand, in each format.
#include "app/render/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Rendered(const Result& result, Format format, bool color = false) {
  std::string text;
  Render(result, format, color, [&](std::string_view piece) { text += piece; });
  return text;
}

// A table with a column for each kind of reader.
Table Nodes() {
  Table table;
  table.columns = {{"name", "name"},
                   {.heading = "n", .right = true, .width = 4},
                   {.key = "module", .heading = "module", .none = "-"},
                   {"role.type", "type"},
                   {"role.layer", "layer"},
                   {"origins", "origins", For::kPrograms},
                   {"bytes", "", For::kJson}};
  table.rows = {
      {"MatMul", 12u, Datum::Module(""), "attention", 0,
       std::vector<std::string>{"a", "b"}, 7u},
      {"Ad\td", 3u, Datum(), Datum(), Datum(), std::vector<std::string>{}, 8u}};
  return table;
}

TEST(RenderTest, ATableIsTheSameInEveryFormat) {
  Result result;
  result.Line("{}: {}", "file\x1b[2J", Count(2, "node"));
  result.Add(Nodes());
  result.markdown.Add(Nodes());
  result.rows.push_back(Nodes());
  result.data =
      Datum::Object({{"nodes", Nodes()}, {"share", Datum::Share(0.5)}});
  EXPECT_EQ(Rendered(result, Format::kText),
            "file\\x1b[2J: 2 nodes\n"
            "name      n  module  type       layer\n"
            "MatMul   12  <root>  attention  0\n"
            "Ad\\x09d   3  -\n");
  EXPECT_EQ(Rendered(result, Format::kTsv),
            "name\tn\tmodule\ttype\tlayer\torigins\n"
            "MatMul\t12\t<root>\tattention\t0\ta b\n"
            "Ad\\x09d\t3\t-\t\t\t\n");
  EXPECT_EQ(Rendered(result, Format::kMarkdown),
            "| name | n | module | type | layer |\n"
            "|---|---:|---|---|---|\n"
            "| MatMul | 12 | \\<root> | attention | 0 |\n"
            "| Ad\\x09d | 3 | - |  |  |\n");
  EXPECT_EQ(Rendered(result, Format::kJson),
            R"({"nodes": [{"name": "MatMul", "module": "", )"
            R"("role": {"type": "attention", "layer": 0}, )"
            R"("origins": ["a", "b"], "bytes": 7}, )"
            R"({"name": "Ad\u0009d", "module": null, "role": null, )"
            R"("origins": [], "bytes": 8}], "share": 0.5})"
            "\n");
}

TEST(RenderTest, RowsAreMadeWhileTheyArePrinted) {
  std::size_t made = 0;
  Result result;
  result.data = Datum::Stream([&](const Datum::Use& use) {
    for (; made < 1000; ++made) use(made);
  });
  std::size_t pieces = 0;
  Render(result, Format::kJson, false, [&](std::string_view piece) {
    // No piece waits for the end of the list.
    EXPECT_LT(piece.size(), 10u);
    ++pieces;
  });
  EXPECT_EQ(made, 1000u);
  EXPECT_GT(pieces, 1000u);
}

TEST(RenderTest, ColorsAreOnlyWhereTheyAreWanted) {
  Table table{{{.heading = "sure", .width = 8}, {.heading = "class"}}, {}, {}};
  table.rows = {{Datum::Levels{1, 0, 0, 3}, Datum("Linear").Colored("36")}};
  Result result;
  result.Line("{}", Ours{Emphasized("a\x1b[3mb")});
  result.Add(table);
  EXPECT_EQ(Rendered(result, Format::kText),
            "a\\x1b[3mb\nsure      class\n  ██████░░  Linear\n");
  const std::string colored = Rendered(result, Format::kText, true);
  EXPECT_THAT(colored, HasSubstr("\x1b[1ma\\x1b[3mb\x1b[0m"));
  EXPECT_THAT(colored, HasSubstr("\x1b[36mLinear\x1b[0m"));
}

TEST(RenderTest, LongNamesAreCutForPeopleOnly) {
  const std::string name(5000, 'a');
  Table table{{{"name", "name"}}, {{name}}, {}};
  Result result;
  result.Add(table);
  result.rows.push_back(table);
  result.data = table;
  EXPECT_THAT(Rendered(result, Format::kText), Not(HasSubstr(name)));
  EXPECT_THAT(Rendered(result, Format::kTsv), HasSubstr(name));
  EXPECT_THAT(Rendered(result, Format::kJson), HasSubstr(name));
}

TEST(RenderTest, ASpreadsheetRunsNoCell) {
  Result result;
  result.rows.push_back(
      {{{"name", "name"}, {"n", "n"}},
       {{"=1+1", -5}, {"@SUM(A1)", "-2.5"}, {"-x", "+y"}, {"a=b", "-"}},
       {}});
  EXPECT_EQ(Rendered(result, Format::kTsv),
            "name\tn\n=1+1\t-5\n@SUM(A1)\t-2.5\n-x\t+y\na=b\t-\n");
  EXPECT_EQ(Rendered(result, Format::kTsvSafe),
            "name\tn\n'=1+1\t-5\n'@SUM(A1)\t-2.5\n'-x\t'+y\na=b\t-\n");
}

}  // namespace
}  // namespace onnx_tag
