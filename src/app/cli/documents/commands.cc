// Tested by tests/app/cli/documents_test.cc. The commands that print what
// packages install: completion scripts and man pages.
#include "app/cli/command_table.h"
#include "app/cli/documents/documents.h"
#include "app/cli/options.h"

namespace onnx_tag::cli {

static Invocation ParseCompletion(Parser& parser, Words words) {
  std::string shell;
  Printing printing;
  parser.Argument("SHELL", shell, "bash, zsh, fish or powershell");
  AddColor(parser, printing);
  parser.Read(std::move(words));
  return PrintText(CompletionScript(Choose("shell", shell, kShellNames)),
                   printing.terminal);
}

const Command kCompletion = {
    "completion", "SHELL", "print the completion script of a shell",
    "  onnx-tag completion bash >~/.local/share/bash-completion/completions/"
    "onnx-tag\n"
    "  onnx-tag completion zsh >~/.zfunc/_onnx-tag\n"
    "  onnx-tag completion fish >~/.config/fish/completions/onnx-tag.fish\n"
    "  onnx-tag completion powershell >>$PROFILE\n",
    ParseCompletion};

static Invocation ParseMan(Parser& parser, Words words) {
  std::string name;
  Printing printing;
  parser.Argument("COMMAND", name, "one of onnx-tag's commands", false);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  if (name.empty()) return PrintText(OverviewPage(), printing.terminal);
  std::vector<std::string_view> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::size_t at = Choose("command", name, names);
  return PrintText(CommandPage(Commands()[at]), printing.terminal);
}

const Command kMan = {"man", "[COMMAND]",
                      "print the man page of onnx-tag or of a command",
                      "  onnx-tag man | man -l -\n"
                      "  onnx-tag man select | man -l -\n",
                      ParseMan};

}  // namespace onnx_tag::cli
