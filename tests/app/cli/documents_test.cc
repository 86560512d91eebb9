// Man pages and completions, as text; tests/shells tries them in real shells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <stdexcept>

#include "app/cli/app.h"
#include "app/cli/command_table.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const OptionRow& Find(const std::vector<OptionRow>& rows,
                      std::string_view name) {
  for (const OptionRow& row : rows) {
    if (row.names.back() == name) return row;
  }
  throw std::out_of_range(std::string(name));
}

std::vector<OptionRow> RowsOf(std::string_view command) {
  return OptionsOf(*FindCommand(command));
}

// The words that follow, with `:files` and its like.
std::vector<std::string> After(Words words) {
  words.insert(words.begin(), std::to_string(words.size()));
  std::vector<std::string> found;
  std::istringstream lines(Completions(words));
  for (std::string line; std::getline(lines, line);) {
    found.push_back(line.substr(0, line.find('\t')));
  }
  return found;
}

TEST(OptionRowsTest, EveryCommandHasItsOptions) {
  const OptionRow strategy = Find(RowsOf("tag"), "--strategy");
  EXPECT_THAT(strategy.names, ElementsAre("-s", "--strategy"));
  EXPECT_EQ(strategy.value, "NAME");
  EXPECT_THAT(strategy.words, IsSupersetOf({"enhanced_semantic", "htp"}));
  EXPECT_EQ(Find(RowsOf("show"), "--hierarchy").value, "FILE");
  EXPECT_EQ(Find(RowsOf("tag"), "--force").value, "");
  EXPECT_TRUE(Find(RowsOf("query"), "EXPR").argument);
}

// A word that the parser would refuse must not be offered. The other options a
// command needs are given their first word.
TEST(OptionRowsTest, EveryWordThatIsOfferedIsTaken) {
  int tried = 0;
  for (const Command& command : Commands()) {
    const std::vector<OptionRow> rows = OptionsOf(command);
    std::vector<std::string> needed = {std::string(command.name)};
    for (const OptionRow& row : rows) {
      if (!row.argument) continue;
      const std::string& name = row.names.front();
      needed.push_back(name == "EXPR"      ? "untagged"
                       : name == "SHELL"   ? "bash"
                       : name == "COMMAND" ? "tag"
                                           : "m.onnx");
    }
    for (const OptionRow& row : rows) {
      for (const std::string_view word : row.words) {
        std::vector<std::string> words = needed;
        words.push_back(row.names.back() + "=" + std::string(word));
        try {
          ParseArgs(words);
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), Not(HasSubstr("unknown ")))
              << words.front() << " " << words.back();
        }
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 100);
}

TEST(CompletionsTest, OffersCommandsModelsAndOptions) {
  EXPECT_THAT(After({"que"}), ElementsAre(":models", "query"));
  EXPECT_THAT(After({"show", "mod"}), ElementsAre(":models"));
  EXPECT_THAT(After({"show", "m.onnx", "--dep"}), ElementsAre("--depth"));
  EXPECT_THAT(After({"m.onnx", "--strat"}), ElementsAre("--strategy"));
  EXPECT_THAT(After({"--ver"}), ElementsAre("--version"));
}

TEST(CompletionsTest, OffersTheValuesOfAnOption) {
  EXPECT_THAT(After({"m.onnx", "-s", "usa"}), ElementsAre("usage_based"));
  EXPECT_THAT(After({"diff", "--format=mark"}),
              ElementsAre("--format=markdown"));
  EXPECT_THAT(After({"show", "--measure", "mem"}), ElementsAre("memory"));
  EXPECT_THAT(After({"show", "--by", "lay"}), ElementsAre("layer"));
  for (const std::string_view command : {"select", "split"}) {
    EXPECT_THAT(After({std::string(command), "--by", "mem"}),
                ElementsAre("memory"));
  }
  EXPECT_THAT(After({"tag", "--rules", "my"}), ElementsAre(":files"));
  EXPECT_THAT(After({"tag", "--out-dir", ""}), ElementsAre(":folders"));
  EXPECT_THAT(After({"tag", "--min-coverage", ""}), ElementsAre());
}

TEST(CompletionsTest, OffersFieldsOfAQueryBehindTheModel) {
  EXPECT_THAT(After({"query", "m.onnx", "wit"}), ElementsAre("within="));
  EXPECT_THAT(After({"query", "m.onnx", "layer=0", "and", "attention=cr"}),
              ElementsAre("attention=cross"));
  EXPECT_THAT(After({"select", "m.onnx", "--for", "ort-quant", ""}),
              IsSupersetOf({"module=", "type=attention", "untagged", "not"}));
  EXPECT_THAT(After({"query", "m.onnx", "unt"}), ElementsAre("untagged"));
}

// PowerShell leaves out a last word that is empty.
TEST(CompletionsTest, TheCountSaysThatTheLastWordIsEmpty) {
  EXPECT_EQ(Completions({"2", "show"}), Completions({"2", "show", ""}));
  EXPECT_EQ(Completions({"9", "show"}), "");
  EXPECT_EQ(Completions({"x"}), "");
  EXPECT_EQ(Completions({}), "");
}

// What a command prints as it is.
std::string DocumentOf(Words words) {
  Terminal nowhere(-1, -1, {});
  return ParseArgs(std::move(words)).run(nowhere).document;
}

TEST(CompletionsTest, TheCommandPrintsTheScriptOfEachShell) {
  for (std::size_t i = 0; i < kShellNames.size(); ++i) {
    const std::string script =
        DocumentOf({"completion", std::string(kShellNames[i])});
    EXPECT_EQ(script, CompletionScript(i));
    EXPECT_THAT(script, HasSubstr("__complete"));
  }
  EXPECT_THROW(ParseArgs({"completion", "tcsh"}), Error);
}

TEST(ManPageTest, TheCommandPrintsThePage) {
  EXPECT_EQ(DocumentOf({"man"}), OverviewPage());
  EXPECT_EQ(DocumentOf({"man", "select"}), CommandPage(*FindCommand("select")));
  EXPECT_THROW(ParseArgs({"man", "selct"}), Error);
}

TEST(ManPageTest, ACommandHasItsPage) {
  const std::string page = CommandPage(*FindCommand("select"));
  EXPECT_THAT(page, HasSubstr(".TH ONNX\\-TAG\\-SELECT 1"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-for\\fR \\fITOOL\\fR"));
  EXPECT_THAT(page, HasSubstr("\\fBwithin\\fR"));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES"));
  EXPECT_THAT(page, HasSubstr("onnx\\-tag select model.onnx"));
  EXPECT_THAT(OverviewPage(), HasSubstr("\\fBonnx\\-tag\\-select\\fR(1)"));
}

// A line that starts with a dot is a request, and vanishes.
TEST(ManPageTest, NoLineOfTextIsARequest) {
  for (const Command& command : Commands()) {
    std::istringstream lines(CommandPage(command));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('.')) continue;
      // GoogleTest's own expressions have no alternatives on Windows.
      static const std::regex request("\\.(TH|SH|SS|TP|nf|fi|br)( .*)?");
      EXPECT_TRUE(std::regex_match(line, request)) << line;
    }
  }
}

}  // namespace
}  // namespace onnx_tag::cli
