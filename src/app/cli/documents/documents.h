// What packages install besides the program: man pages and completions, and the
// commands that print them. Both are made from the rows of the commands'
// options.
#ifndef ONNX_TAG_APP_CLI_DOCUMENTS_DOCUMENTS_H_
#define ONNX_TAG_APP_CLI_DOCUMENTS_DOCUMENTS_H_

#include <array>
#include <string>
#include <string_view>

#include "app/cli/command_table.h"

namespace onnx_tag::cli {

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

#endif  // ONNX_TAG_APP_CLI_DOCUMENTS_DOCUMENTS_H_
