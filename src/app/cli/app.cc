#include "app/cli/app.h"

#include <fmt/core.h>

#include <array>

#include "app/cli/command_table.h"
#include "app/commands/commands.h"
#include "base/lists.h"
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

// Commands of the Python package.
constexpr std::array<std::string_view, 7> kCompanionCommands = {
    "adapter",   "check-weights", "compare",       "record",
    "reference", "refit",         "rename-weights"};

[[noreturn]] void FailOnFirstWord(const std::string& word) {
  std::vector<std::string_view> names = CommandNames();
  names.insert(names.end(), kCompanionCommands.begin(),
               kCompanionCommands.end());
  const std::string_view near = NearestWord(word, names);
  if (near.empty()) {
    Fail(ErrorKind::kInput, "{}: no such file or command", word);
  }
  Fail(ErrorKind::kUsage,
       "'{}' is neither a command nor a file, did you mean '{}'?", word, near);
}

// Refuses an option that `tag` does not have: before a command, it may be
// meant for the program.
void CheckFirstOption(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (!name.starts_with("--") || name.size() == 2) return;
  const std::vector<OptionRow> rows = OptionsOf(*FindCommand("tag"));
  std::vector<std::string_view> names = {"--version"};
  for (const OptionRow& row : rows) {
    for (const std::string& one : row.names) names.push_back(one);
  }
  if (IsAmong(name, names)) return;
  Fail(ErrorKind::kUsage, "unknown option '{}'{}", name,
       Ours{DidYouMean(name, names, "\n  see onnx-tag --help")});
}

// Prints `text` and does nothing else.
Invocation PrintText(const std::string& text,
                     ExitCode exit_code = ExitCode::kOk) {
  return {text,
          [text, exit_code](Terminal&) {
            Result result;
            result.document = text;
            result.exit_code = exit_code;
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
  if (args.empty()) return PrintText(OverviewText(), ExitCode::kUsage);
  const std::string& first = args.front();
  const bool help = first == "help" && !Exists(first);
  if (first == "--help" || first == "-h" || (help && args.size() == 1)) {
    return PrintText(OverviewText());
  }
  if (first == "--version" || first == "-V") {
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
  CheckFirstOption(args.front());
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
