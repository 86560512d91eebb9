// The table of commands, which the build makes from src/data/commands.txt:
// lookup, help and "did you mean" use it.
#pragma once

#include <array>
#include <optional>
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

// What a word of an older version does now, if `args` have one. Throws
// Error(kUsage) with the new words, or runs the Python package. moved_words.cc.
std::optional<Invocation> RunMoved(const Words& args);

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

// documents/: what packages install besides the program, man pages and
// completions, made from the rows of the commands' options.

// The help of an option without line breaks.
std::string OneLine(std::string text);

// man pages in roff: onnx-tag(1), and onnx-tag-COMMAND(1).
std::string OverviewPage();
std::string CommandPage(const Command& command);

inline constexpr std::array<std::string_view, 4> kShellNames = {
    "bash", "zsh", "fish", "powershell"};

// The script that makes a shell ask the program for completions:
//   onnx-tag __complete COUNT WORD...
// COUNT is the number of words after the program's name, the one being typed
// included; some shells leave out a last word that is empty.
std::string CompletionScript(std::size_t shell);

struct CompletionOptions {
  std::size_t shell = 0;
};
Result RunCompletion(const CompletionOptions& options, Terminal& terminal);

struct ManOptions {
  std::string command;  // "": of onnx-tag
};
Result RunMan(const ManOptions& options, Terminal& terminal);

// The answer: a line for each word that can be next, with a tabulator and its
// help; `:files`, `:folders` or `:models` if the shell is to offer files.
std::string Completions(Words words);

}  // namespace onnx_tag::cli
