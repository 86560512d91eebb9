// The table of commands, which the build makes from data/commands.txt: lookup,
// help and "did you mean" use it.
#ifndef ONNX_TAG_APP_CLI_COMMAND_TABLE_H_
#define ONNX_TAG_APP_CLI_COMMAND_TABLE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/app.h"
#include "app/cli/parser.h"

namespace onnx_tag::cli {

struct Command {
  std::string_view name;
  std::string_view usage;  // the arguments after the name
  std::string_view help;   // one line
  std::string_view examples;
  // Adds the command's rows to `parser`, reads `words` and returns the result.
  Invocation (*parse)(Parser& parser, Words words);
};

// The commands for one job, under a heading of the help.
struct CommandGroup {
  std::string_view job;  // "tag and look"
  std::vector<Command> commands;
};
std::span<const CommandGroup> CommandGroups();

// All of them, in the order of the help.
std::span<const Command> Commands();

std::vector<std::string_view> CommandNames();

// Returns null if `name` is not a command.
const Command* FindCommand(std::string_view name);

// The command's options.
std::vector<OptionRow> OptionsOf(const Command& command);

// The groups of the rows, in the order of their first rows.
std::vector<std::string> GroupsOf(std::span<const OptionRow> rows);

// `text` with `commands` in place of $commands.
std::string WithCommands(std::string_view text, std::string_view commands);

// `onnx-tag --help`.
std::string OverviewText();

// `onnx-tag COMMAND --help`, made from the command's rows.
std::string HelpText(const Command& command);

// "npi, autocast or quark", in lines of at most `width` columns (0: one line).
std::string EitherOf(std::span<const std::string_view> words,
                     std::size_t width = 0);

// mcp.cc: the command that has no options.
struct McpOptions {};
Result RunMcp(const McpOptions& options, Terminal& terminal);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_COMMAND_TABLE_H_
