// The commands with their options as plain data, and the man pages and
// completions that are made of it. The data come from the table of commands and
// from the parsers themselves.
#ifndef ONNX_TAG_APP_CLI_DOCUMENTS_DESCRIBED_H_
#define ONNX_TAG_APP_CLI_DOCUMENTS_DESCRIBED_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_table.h"

namespace onnx_tag::cli {

struct DescribedOption {
  std::vector<std::string> shorts;  // "s"
  std::vector<std::string> longs;   // "strategy"
  std::string value;                // "NAME"; empty for a flag
  std::string help;                 // without line breaks
  std::string group;
  bool repeats = false;
  // What can stand for the value, where that is a list of words.
  std::vector<std::string> words;

  bool takes_file() const { return value == "FILE"; }
  bool takes_folder() const { return value == "DIR"; }
};

struct DescribedPositional {
  std::string name;  // "MODEL", "EXPR"
  std::string help;
  bool repeats = false;
};

struct DescribedCommand {
  const Command* command = nullptr;
  std::vector<DescribedPositional> positionals;
  std::vector<DescribedOption> options;

  // The position of the positional argument that is a query; -1 without one.
  int expression() const;
};

std::vector<DescribedCommand> DescribeCommands();

// "type=" for every field of a query, and "type=attention" for each word of a
// field that has a list of words.
std::vector<std::string> QueryWords();

// Completion scripts for shells. Each offers commands, options, the words that
// options take, files where files are wanted, and the fields of a query.

std::string BashCompletion(std::span<const DescribedCommand> commands);
std::string FishCompletion(std::span<const DescribedCommand> commands);
std::string PowershellCompletion(std::span<const DescribedCommand> commands);
std::string ZshCompletion(std::span<const DescribedCommand> commands);

// man pages in roff, from the same descriptions as --help.

// onnx-tag(1): the commands, exit codes and files.
std::string OverviewPage();

// onnx-tag-COMMAND(1).
std::string CommandPage(const DescribedCommand& command);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_DOCUMENTS_DESCRIBED_H_
