// Every command's help has a golden case and fits a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/command_table.h"
#include "base/text.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

TEST(HelpTest, EveryHelpHasAGoldenAndFitsATerminal) {
  std::string golden;
  for (const auto& entry :
       std::filesystem::directory_iterator(ONNX_TAG_GOLDEN_CASES)) {
    golden += ReadFile(entry.path().string());
  }
  std::vector<std::string> calls = {"--help"};
  for (const cli::Command& command : cli::Commands()) {
    calls.push_back(std::string(command.name) + " --help");
  }
  for (const std::string& call : calls) {
    EXPECT_THAT(golden, testing::HasSubstr("$ onnx-tag " + call + "\n"))
        << "add the line to tests/app/cli/cases/help.txt and run cli_test with "
           "ONNX_TAG_UPDATE_GOLDEN=1";
    std::vector<std::string> words;
    for (const std::string_view word : Split(call, ' ')) {
      words.emplace_back(word);
    }
    const std::string help = RunCli(words).out;
    EXPECT_NE(help, "") << call;
    for (const std::string_view line : Split(help, '\n')) {
      EXPECT_LE(line.size(), 80u) << call << ": " << line;
    }
  }
}

}  // namespace
}  // namespace onnx_tag::test
