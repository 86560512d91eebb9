// Tested by tests/app/cli/documents_test.cc and tests/shells.
#include <fmt/core.h>

#include "app/cli/documents/described.h"

namespace onnx_tag::cli {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string Joined(std::span<const std::string> words) {
  std::string joined;
  for (const std::string& word : words) {
    joined += (joined.empty() ? "" : " ") + word;
  }
  return joined;
}

std::string ForCommand(std::string_view name) {
  return fmt::format("complete -c onnx-tag -n '__onnx_tag_using {}'", name);
}

std::string OptionLine(std::string_view command,
                       const DescribedOption& option) {
  std::string line = ForCommand(command);
  for (const std::string& name : option.shorts) line += " -s " + name;
  for (const std::string& name : option.longs) line += " -l " + name;
  if (option.takes_file()) {
    line += " -r -F";
  } else if (option.takes_folder()) {
    line += " -x -a '(__fish_complete_directories)'";
  } else if (!option.value.empty()) {
    line += " -x";
    if (!option.words.empty()) line += " -a " + Quoted(Joined(option.words));
  }
  return line + " -d " + Quoted(option.help) + "\n";
}

constexpr std::string_view kFishFunctions = R"fish(
# The words after the program, without the one that is being typed.
function __onnx_tag_words
    set -l words (commandline -opc)
    set -e words[1]
    set -q words[1]; and printf '%s\n' $words
end

# Whether this is the command; without one it is tag.
function __onnx_tag_using
    set -l words (__onnx_tag_words)
    set -q words[1]; or return 1
    if contains -- $words[1] $__onnx_tag_commands
        test $words[1] = $argv[1]
    else
        test $argv[1] = tag
    end
end

# Whether a model is there already: what follows is the query.
function __onnx_tag_asking
    set -l words (__onnx_tag_words)
    set -e words[1]
    string match -qv -- '-*' $words
end

function __onnx_tag_no_command
    set -l words (__onnx_tag_words)
    not set -q words[1]
end

)fish";

}  // namespace

std::string FishCompletion(std::span<const DescribedCommand> commands) {
  std::string text =
      "# fish completion for onnx-tag; the build makes it from the table of "
      "commands.\nset -g __onnx_tag_commands";
  for (const DescribedCommand& command : commands) {
    text += fmt::format(" {}", command.command->name);
  }
  text += "\n";
  text += kFishFunctions;
  for (const DescribedCommand& command : commands) {
    text += fmt::format(
        "complete -c onnx-tag -n __onnx_tag_no_command -a {} -d {}\n",
        command.command->name, Quoted(command.command->help));
  }
  text +=
      "complete -c onnx-tag -n __onnx_tag_no_command -l version -d 'print the "
      "version'\n"
      "complete -c onnx-tag -n __onnx_tag_no_command -l help -s h -d 'print "
      "the commands'\n";
  for (const DescribedCommand& command : commands) {
    const std::string_view name = command.command->name;
    for (const DescribedOption& option : command.options) {
      text += OptionLine(name, option);
    }
    if (command.expression() >= 0) {
      text += fmt::format(
          "complete -c onnx-tag -n '__onnx_tag_using {}; and "
          "__onnx_tag_asking' -f -a {}\n",
          name, Quoted(Joined(QueryWords()) + " and or not"));
    }
  }
  return text;
}

}  // namespace onnx_tag::cli
