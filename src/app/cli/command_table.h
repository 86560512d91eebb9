// The table of commands: lookup, help and "did you mean" use it.
#ifndef ONNX_TAG_APP_CLI_COMMAND_TABLE_H_
#define ONNX_TAG_APP_CLI_COMMAND_TABLE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/app.h"

namespace CLI {
class App;
}

namespace onnx_tag::cli {

using Words = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view usage;  // the arguments after the name
  std::string_view help;   // one line
  std::string_view examples;
  // Adds the command's options to `app`, parses `words` and returns the result.
  Invocation (*parse)(CLI::App& app, Words words);
};

// Each beside its parser: reading_commands.cc, writing_commands.cc,
// documents/commands.cc.
extern const Command kTag, kShow, kQuery, kSelect, kExplain, kExport, kStrip,
    kScrub, kTransfer, kDiff, kReport, kCheck, kProfile, kFilt, kWeights, kTap,
    kExtract, kSplit, kStrategies, kCompletion, kMan;

// All of them, in the order of the help.
std::span<const Command> Commands();

// Returns null if `name` is not a command.
const Command* FindCommand(std::string_view name);

// The command's parser, with all its options and no words read. Its options
// describe themselves; reading words with it is not possible.
std::unique_ptr<CLI::App> OptionsOf(const Command& command);

// `onnx-tag --help`.
std::string OverviewText();

// Parses `words` with `app`. Turns CLI11's exceptions into Error(kUsage),
// except CLI::CallForHelp, which passes through.
void ReadWords(CLI::App& app, Words words);

// `onnx-tag COMMAND --help`, made from the registered options.
std::string HelpText(const CLI::App& app, const Command& command);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_COMMAND_TABLE_H_
