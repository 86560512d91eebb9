#include "app/cli/app.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "app/cli/command_table.h"
#include "app/cli/options.h"
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
  for (const std::string_view companion : {"compare", "record", "reference"}) {
    if (word != companion) continue;
    Fail(ErrorKind::kUsage,
         "'{0}' is a command of the Python package\n  run: python -m onnx_tag "
         "{0} --help",
         word);
  }
  std::vector<std::string_view> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::string_view near = NearestWord(word, names);
  if (near.empty()) {
    Fail(ErrorKind::kInput, "{}: no such file or command", word);
  }
  Fail(ErrorKind::kUsage,
       "'{}' is neither a command nor a file, did you mean '{}'?", word, near);
}

// For `--name=`, CLI11 would take the next word as the value.
Words WithEmptyValues(const Words& words) {
  Words result;
  bool options = true;
  for (const std::string& word : words) {
    options = options && word != "--";
    if (options && word.starts_with("--") && word.size() > 3 &&
        word.find('=') == word.size() - 1) {
      result.push_back(word.substr(0, word.size() - 1));
      result.emplace_back();
    } else {
      result.push_back(word);
    }
  }
  return result;
}

[[noreturn]] void FailOnUnknownOption(const CLI::App& app,
                                      const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) {
      names.push_back("--" + known);
    }
  }
  if (!word.starts_with('-')) {
    Fail(ErrorKind::kUsage, "unexpected argument '{}'\n  see {} --help", word,
         app.get_name());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  Fail(ErrorKind::kUsage, "unknown option '{}'{}", name,
       Ours{DidYouMean(name, views, "\n  see " + app.get_name() + " --help")});
}

std::unique_ptr<CLI::App> NewApp(const Command& command) {
  auto app = std::make_unique<CLI::App>(
      std::string(command.help), fmt::format("onnx-tag {}", command.name));
  app->set_help_flag("-h,--help", "print this help")->group("Terminal");
  app->allow_extras();
  // On Windows CLI11 would take the name of a node, /layer/MatMul, for an
  // option.
  app->allow_windows_style_options(false);
  return app;
}

Invocation ParseCommand(const Command& command, Words words) {
  const std::unique_ptr<CLI::App> app = NewApp(command);
  try {
    return command.parse(*app, WithEmptyValues(words));
  } catch (const CLI::CallForHelp&) {
    return PrintText(HelpText(*app, command));
  }
}

// The name of the first required option or argument that is missing.
std::string MissingWord(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    if (!option->get_positional()) return "--" + option->get_lnames().front();
    const std::string name = option->get_name(true);
    if (name == "EXPR") return "expression";
    if (name == "NODE") return "node";
    if (name == "SHELL") return "shell";
    return name == "PROFILE" ? "profile" : "model";
  }
  return "model";
}

}  // namespace

Invocation PrintText(const std::string& text, TerminalOptions terminal) {
  return {text,
          [text](Terminal&) {
            Result result;
            result.document = text;
            return result;
          },
          Format::kText, std::move(terminal)};
}

std::unique_ptr<CLI::App> OptionsOf(const Command& command) {
  std::unique_ptr<CLI::App> app = NewApp(command);
  try {
    command.parse(*app, {"--help"});
  } catch (const CLI::CallForHelp&) {
  }
  return app;
}

void ReadWords(CLI::App& app, Words words) {
  // CLI11 expects the words in reverse order.
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::RequiredError&) {
    Fail(ErrorKind::kUsage, "no {} given\n  see {} --help", MissingWord(app),
         app.get_name());
  } catch (const CLI::ArgumentMismatch& error) {
    // "--output: 1 required FILE missing", or a value given twice.
    const std::string_view what = error.what();
    const std::string_view option = what.substr(0, what.find(':'));
    if (what.ends_with("missing")) {
      Fail(ErrorKind::kUsage, "{} needs a value", option);
    }
    Fail(ErrorKind::kUsage, "{} may be given only once", option);
  } catch (const CLI::ParseError& error) {
    Fail(ErrorKind::kUsage, "{}", error.what());
  }
  for (const std::string& unknown : app.remaining()) {
    // "--" ends the options; it is not an argument.
    if (unknown != "--") FailOnUnknownOption(app, unknown);
  }
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
  if (help) args = {args[1], "--help"};

  if (const Command* command = FindCommand(args.front())) {
    args.erase(args.begin());
    return ParseCommand(*command, std::move(args));
  }
  if (!CouldBeFile(args.front())) FailOnFirstWord(args.front());
  return ParseCommand(*FindCommand("tag"), std::move(args));
}

}  // namespace onnx_tag::cli
