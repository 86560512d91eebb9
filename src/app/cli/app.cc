#include "app/cli/app.h"

#include <fmt/core.h>

#include "app/cli/command_table.h"
#include "app/commands/commands.h"
#include "base/text.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

// A first word without a dot or a slash is more likely a mistyped command than
// a missing file. For "tag.onnx", the command `tag` reports the missing file.
bool CouldBeFile(const std::string& word) {
  return word.starts_with('-') || Exists(word) ||
         word.find_first_of("./") != std::string::npos;
}

[[noreturn]] void FailOnFirstWord(const std::string& word) {
  const std::string_view near = NearestWord(word, CommandNames());
  if (near.empty()) {
    Fail(ErrorKind::kInput, "{}: no such file or command", word);
  }
  Fail(ErrorKind::kUsage,
       "'{}' is neither a command nor a file, did you mean '{}'?", word, near);
}

// Prints `text` and does nothing else.
Invocation PrintText(const std::string& text) {
  return {text,
          [text](Terminal&) {
            Result result;
            result.document = text;
            return result;
          },
          Format::kText,
          {}};
}

Invocation ParseCommand(const Command& command, Words words) {
  Parser parser(fmt::format("onnx-tag {}", command.name));
  try {
    return command.parse(parser, std::move(words));
  } catch (const HelpWanted&) {
    return PrintText(HelpText(command));
  }
}

}  // namespace

Format Printing::format() const {
  if (HasTsv() && json) {
    Fail(ErrorKind::kUsage, "use only one of --tsv and --json");
  }
  return tsv_safe   ? Format::kTsvSafe
         : tsv      ? Format::kTsv
         : json     ? Format::kJson
         : markdown ? Format::kMarkdown
                    : Format::kText;
}

Invocation ParseArgs(std::vector<std::string> args) {
  if (args.empty()) {
    Fail(ErrorKind::kUsage, "no model given\n  see onnx-tag --help");
  }
  const std::string& first = args.front();
  const bool help = first == "help" && !Exists(first);
  if (first == "--help" || first == "-h" || (help && args.size() == 1)) {
    return PrintText(OverviewText());
  }
  if (first == "--version") {
    return PrintText(fmt::format("onnx-tag {}\n", ToolVersion()));
  }
  if (first == "__complete") {
    args.erase(args.begin());
    return PrintText(Completions(args));
  }
  if (help) args = {args[1], "--help"};
  if (std::optional<Invocation> moved = RunMoved(args)) return *moved;

  if (const Command* command = FindCommand(args.front())) {
    args.erase(args.begin());
    return ParseCommand(*command, std::move(args));
  }
  if (!CouldBeFile(args.front())) FailOnFirstWord(args.front());
  return ParseCommand(*FindCommand("tag"), std::move(args));
}

int Run(std::vector<std::string> args, int out, int err) {
  try {
    const Invocation invocation = ParseArgs(std::move(args));
    Terminal terminal(out, err, invocation.terminal);
    const Result result = invocation.run(terminal);
    Print(result, invocation.format, terminal);
    terminal.Flush();
    return static_cast<int>(result.exit_code);
  } catch (const BrokenPipe&) {
    // A shell shows 128 + 13 for a program that SIGPIPE ended.
    return 128 + 13;
  } catch (const std::exception& error) {
    Terminal(out, err, {}).Complain(ErrorText(error));
    return static_cast<int>(ExitCodeOf(error));
  }
}

}  // namespace onnx_tag::cli
