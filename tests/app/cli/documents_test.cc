// Man pages and completions, as text; tests/shells tries them in real shells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <stdexcept>

#include "app/cli/app.h"
#include "app/cli/documents/described.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const DescribedCommand& Find(const std::vector<DescribedCommand>& commands,
                             std::string_view name) {
  for (const DescribedCommand& command : commands) {
    if (command.command->name == name) return command;
  }
  throw std::out_of_range(std::string(name));
}

const DescribedOption& Find(const DescribedCommand& command,
                            std::string_view name) {
  for (const DescribedOption& option : command.options) {
    for (const std::string& known : option.longs) {
      if (known == name) return option;
    }
  }
  throw std::out_of_range(std::string(name));
}

TEST(DescribedTest, EveryCommandHasItsOptions) {
  const auto commands = DescribeCommands();
  ASSERT_EQ(commands.size(), Commands().size());
  const DescribedOption& strategy = Find(Find(commands, "tag"), "strategy");
  EXPECT_THAT(strategy.shorts, testing::ElementsAre("s"));
  EXPECT_EQ(strategy.value, "NAME");
  EXPECT_THAT(strategy.words, IsSupersetOf({"enhanced_semantic", "htp"}));
  EXPECT_TRUE(Find(Find(commands, "show"), "hierarchy").takes_file());
  EXPECT_TRUE(Find(Find(commands, "strip"), "out-dir").takes_folder());
  EXPECT_EQ(Find(Find(commands, "tag"), "force").value, "");
  EXPECT_EQ(Find(commands, "query").expression(), 1);
  EXPECT_EQ(Find(commands, "show").expression(), -1);
}

// A word that the parser would refuse must not be offered. The other options a
// command needs are given their first word.
TEST(DescribedTest, EveryWordThatIsOfferedIsTaken) {
  int tried = 0;
  for (const DescribedCommand& command : DescribeCommands()) {
    std::vector<std::string> needed = {std::string(command.command->name)};
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
      const std::string& name = command.positionals[i].name;
      needed.push_back(name == "EXPR"      ? "untagged"
                       : name == "SHELL"   ? "bash"
                       : name == "COMMAND" ? "tag"
                                           : "m.onnx");
    }
    for (const DescribedOption& option : command.options) {
      for (const std::string& word : option.words) {
        std::vector<std::string> words = needed;
        words.push_back("--" + option.longs.front() + "=" + word);
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

TEST(DescribedTest, QueriesHaveFieldsAndTheirWords) {
  EXPECT_THAT(QueryWords(),
              IsSupersetOf({"module=", "within=", "type=", "type=attention",
                            "attention=self", "confidence=high", "untagged"}));
  EXPECT_THAT(QueryWords(), Not(Contains("untagged=")));
}

TEST(CompletionsTest, EveryShellKnowsEveryCommandAndOption) {
  const auto commands = DescribeCommands();
  const std::string scripts[] = {
      BashCompletion(commands), FishCompletion(commands),
      ZshCompletion(commands), PowershellCompletion(commands)};
  for (const std::string& script : scripts) {
    for (const DescribedCommand& command : commands) {
      EXPECT_THAT(script, HasSubstr(command.command->name));
      for (const DescribedOption& option : command.options) {
        for (const std::string& name : option.longs) {
          EXPECT_THAT(script, HasSubstr(name));
        }
      }
    }
    EXPECT_THAT(script, HasSubstr("enhanced_semantic"));
    EXPECT_THAT(script, HasSubstr("type=attention"));
    EXPECT_THAT(script, HasSubstr("ort-quant"));
  }
}

TEST(CompletionsTest, TheCommandPrintsTheScriptOfEachShell) {
  const auto commands = DescribeCommands();
  const std::pair<std::string, std::string> scripts[] = {
      {"bash", BashCompletion(commands)},
      {"zsh", ZshCompletion(commands)},
      {"fish", FishCompletion(commands)},
      {"powershell", PowershellCompletion(commands)}};
  for (const auto& [shell, script] : scripts) {
    const Invocation invocation = ParseArgs({"completion", shell});
    EXPECT_EQ(std::any_cast<std::string>(invocation.options), script);
  }
  EXPECT_THROW(ParseArgs({"completion", "tcsh"}), Error);
}

TEST(ManPageTest, TheCommandPrintsThePage) {
  EXPECT_EQ(std::any_cast<std::string>(ParseArgs({"man"}).options),
            OverviewPage());
  EXPECT_EQ(std::any_cast<std::string>(ParseArgs({"man", "select"}).options),
            CommandPage(Find(DescribeCommands(), "select")));
  EXPECT_THROW(ParseArgs({"man", "selct"}), Error);
}

TEST(ManPageTest, ACommandHasItsPage) {
  const std::string page = CommandPage(Find(DescribeCommands(), "select"));
  EXPECT_THAT(page, HasSubstr(".TH ONNX\\-TAG\\-SELECT 1"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-for\\fR \\fITOOL\\fR"));
  EXPECT_THAT(page, HasSubstr("\\fBwithin\\fR"));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES"));
  EXPECT_THAT(page, HasSubstr("onnx\\-tag select model.onnx"));
  EXPECT_THAT(OverviewPage(), HasSubstr("\\fBonnx\\-tag\\-select\\fR(1)"));
}

// A line that starts with a dot is a request, and vanishes.
TEST(ManPageTest, NoLineOfTextIsARequest) {
  for (const DescribedCommand& command : DescribeCommands()) {
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
