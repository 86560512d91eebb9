// Tested by tests/app/cli/documents_test.cc. The commands that print what
// packages install: completion scripts and man pages.
#include <CLI/CLI.hpp>
#include <array>

#include "app/cli/command_table.h"
#include "app/cli/documents/described.h"
#include "app/cli/options.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

struct Shell {
  std::string_view name;
  std::string (*script)(std::span<const DescribedCommand>);
};

constexpr std::array kShells = {
    Shell{"bash", BashCompletion},
    Shell{"zsh", ZshCompletion},
    Shell{"fish", FishCompletion},
    Shell{"powershell", PowershellCompletion},
};

std::string ScriptFor(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Shell& shell : kShells) {
    if (shell.name == name) return shell.script(DescribeCommands());
    names.push_back(shell.name);
  }
  Fail(ErrorKind::kUsage, "unknown shell '{}'{}", name,
       Ours{DidYouMean(name, names, "; use bash, zsh, fish or powershell")});
}

std::string PageOf(const std::string& name) {
  if (name.empty()) return OverviewPage();
  std::vector<std::string_view> names;
  for (const DescribedCommand& command : DescribeCommands()) {
    if (command.command->name == name) return CommandPage(command);
    names.push_back(command.command->name);
  }
  Fail(ErrorKind::kUsage, "unknown command '{}'{}", name,
       Ours{DidYouMean(name, names, "\n  see onnx-tag --help")});
}

}  // namespace

static Invocation ParseCompletion(CLI::App& app, Words words) {
  std::string shell;
  TerminalWords terminal;
  app.add_option("SHELL", shell, "bash, zsh, fish or powershell")->required();
  terminal.Add(app);
  ReadWords(app, std::move(words));
  return PrintText(ScriptFor(shell), terminal.Take());
}

const Command kCompletion = {
    "completion", "SHELL", "print the completion script of a shell",
    "  onnx-tag completion bash >~/.local/share/bash-completion/completions/"
    "onnx-tag\n"
    "  onnx-tag completion zsh >~/.zfunc/_onnx-tag\n"
    "  onnx-tag completion fish >~/.config/fish/completions/onnx-tag.fish\n"
    "  onnx-tag completion powershell >>$PROFILE\n",
    ParseCompletion};

static Invocation ParseMan(CLI::App& app, Words words) {
  std::string command;
  TerminalWords terminal;
  app.add_option("COMMAND", command, "one of onnx-tag's commands");
  terminal.Add(app);
  ReadWords(app, std::move(words));
  return PrintText(PageOf(command), terminal.Take());
}

const Command kMan = {"man", "[COMMAND]",
                      "print the man page of onnx-tag or of a command",
                      "  onnx-tag man | man -l -\n"
                      "  onnx-tag man select | man -l -\n",
                      ParseMan};

}  // namespace onnx_tag::cli
