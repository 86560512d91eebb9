// Tested by tests/app/cli/documents_test.cc and tests/shells.
#include <fmt/core.h>

#include "app/cli/documents/described.h"

namespace onnx_tag::cli {
namespace {

// Text inside the [...] or between the colons of an _arguments specification,
// in single quotes.
std::string ZshEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string Action(const DescribedOption& option) {
  if (option.takes_file()) return "_files";
  if (option.takes_folder()) return "_files -/";
  if (option.words.empty()) return " ";
  std::string words;
  for (const std::string& word : option.words) {
    words += (words.empty() ? "" : " ") + word;
  }
  return "(" + words + ")";
}

// '(-s --strategy)'{-s+,--strategy=}'[help]:NAME:(a b)'
std::string Specification(const DescribedOption& option) {
  std::vector<std::string> names;
  std::string all;
  const auto add = [&](std::string_view dashes, const std::string& name,
                       std::string_view mark) {
    all += fmt::format("{}{}{}", all.empty() ? "" : " ", dashes, name);
    names.push_back(
        fmt::format("{}{}{}", dashes, name, option.value.empty() ? "" : mark));
  };
  for (const std::string& name : option.shorts) add("-", name, "+");
  for (const std::string& name : option.longs) add("--", name, "=");
  const std::string before = option.repeats       ? "'*'"
                             : names.size() == 1U ? ""
                                                  : "'(" + all + ")'";
  std::string braces = names.front();
  if (names.size() > 1) {
    braces = "{";
    for (std::size_t i = 0; i < names.size(); ++i) {
      braces += (i == 0 ? "" : ",") + names[i];
    }
    braces += "}";
  }
  std::string text = before + braces + "'[" + ZshEscaped(option.help) + "]";
  if (!option.value.empty()) {
    text += ":" + ZshEscaped(option.value) + ":" + Action(option);
  }
  return text + "'";
}

std::string Arguments(const DescribedCommand& command) {
  std::string text = "    _arguments -s -S";
  for (const DescribedOption& option : command.options) {
    text += " \\\n      " + Specification(option);
  }
  for (const DescribedPositional& positional : command.positionals) {
    const bool query = positional.name == "EXPR";
    // A query may be in several words; a model that can be left out is one.
    text += fmt::format(" \\\n      '{}:{}:{}'",
                        query || positional.repeats ? "*" : ":",
                        ZshEscaped(positional.name),
                        query ? "_onnx_tag_expression" : "_onnx_tag_models");
  }
  return text + "\n";
}

constexpr std::string_view kModels = R"zsh(
_onnx_tag_models() {
  _files -g '*.(onnx|json)'
}

)zsh";

}  // namespace

std::string ZshCompletion(std::span<const DescribedCommand> commands) {
  std::string text =
      "#compdef onnx-tag\n"
      "# The build makes this from the table of commands.\n\n"
      "_onnx_tag_expression() {\n  local -a terms\n  terms=(";
  for (const std::string& word : QueryWords()) text += " '" + word + "'";
  text +=
      ")\n"
      "  compadd -S '' -- ${(M)terms:#*=}\n"
      "  compadd -- ${terms:#*=} and or not\n}\n";
  text += kModels;
  text += "_onnx_tag() {\n  local -a commands\n  commands=(\n";
  for (const DescribedCommand& command : commands) {
    text += fmt::format("    '{}:{}'\n", command.command->name,
                        ZshEscaped(command.command->help));
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe -t commands command commands\n"
      "    _onnx_tag_models\n"
      "    return\n"
      "  fi\n"
      "  local command=tag\n"
      "  if [[ -n ${(M)commands:#$words[2]:*} ]]; then\n"
      "    command=$words[2]\n"
      "    shift words\n"
      "    (( CURRENT-- ))\n"
      "  fi\n"
      "  case $command in\n";
  for (const DescribedCommand& command : commands) {
    text += fmt::format("  {})\n{}    ;;\n", command.command->name,
                        Arguments(command));
  }
  text += "  esac\n}\n\n_onnx_tag \"$@\"\n";
  return text;
}

}  // namespace onnx_tag::cli
