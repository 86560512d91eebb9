// The table of commands: lookup, help and "did you mean" use it.
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

// Each beside its parser: reading_commands.cc, writing_commands.cc,
// documents/commands.cc.
extern const Command kTag, kShow, kQuery, kSelect, kExplain, kExport, kStrip,
    kScrub, kTransfer, kDiff, kReport, kCheck, kProfile, kFilt, kWeights, kTap,
    kExtract, kSplit, kStrategies, kMcp, kCompletion, kMan;

// The commands for one job, under a heading of the help.
struct CommandGroup {
  std::string_view job;  // "tag and look"
  std::vector<Command> commands;
};
std::span<const CommandGroup> CommandGroups();

// All of them, in the order of the help.
std::span<const Command> Commands();

// Returns null if `name` is not a command.
const Command* FindCommand(std::string_view name);

// The command's options.
std::vector<OptionRow> OptionsOf(const Command& command);

// The groups of the rows, in the order of their first rows.
std::vector<std::string> GroupsOf(std::span<const OptionRow> rows);

// `onnx-tag --help`.
std::string OverviewText();

// `onnx-tag COMMAND --help`, made from the command's rows.
std::string HelpText(const Command& command);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_COMMAND_TABLE_H_
