// The commands by name: lookup, help and "did you mean" come from one table.
#ifndef ONNX_TAG_CLI_COMMAND_TABLE_H_
#define ONNX_TAG_CLI_COMMAND_TABLE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.h"

namespace CLI {
class App;
}

namespace onnx_tag::cli {

using Words = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view usage;  // what follows the name
  std::string_view help;   // one line
  std::string_view examples;
  // Adds the command's options to `app`, has it read `words`, and returns
  // what they say.
  Invocation (*parse)(CLI::App& app, Words words);
};

std::span<const Command> Commands();

// Null where `name` is no command.
const Command* FindCommand(std::string_view name);

// The command's parser, with all its options and no words read. Its options
// describe themselves; reading words with it is not possible.
std::unique_ptr<CLI::App> OptionsOf(const Command& command);

// `onnx-tag --help`.
std::string OverviewText();

// Has `app` read `words`. Throws Error(kUsage) in our own words; CLI11's call
// for help passes through.
void ReadWords(CLI::App& app, Words words);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_COMMAND_TABLE_H_
