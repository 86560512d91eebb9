// Tested by tests/app/cli/documents_test.cc and tests/shells.
#include <fmt/core.h>

#include <map>

#include "app/cli/documents/described.h"

namespace onnx_tag::cli {
namespace {

void AddWord(std::string& list, const std::string& word) {
  if (!list.empty()) list += ' ';
  list += word;
}

// What bash is to offer for the value of an option.
std::string AnswerFor(const DescribedOption& option) {
  if (option.takes_file()) return "@file";
  if (option.takes_folder()) return "@folder";
  if (option.words.empty()) return "@other";
  std::string words;
  for (const std::string& word : option.words) AddWord(words, word);
  return words;
}

std::string Values(std::span<const DescribedCommand> commands) {
  std::map<std::string, std::string> patterns;  // by what is offered
  for (const DescribedCommand& command : commands) {
    for (const DescribedOption& option : command.options) {
      if (option.value.empty()) continue;
      std::string& pattern = patterns[AnswerFor(option)];
      const auto add = [&](const std::string& name) {
        pattern += fmt::format("{}{}:{}", pattern.empty() ? "" : " | ",
                               command.command->name, name);
      };
      for (const std::string& name : option.shorts) add("-" + name);
      for (const std::string& name : option.longs) add("--" + name);
    }
  }
  std::string text =
      "# What the value of an option can be: _onnx_tag_value COMMAND OPTION\n"
      "_onnx_tag_value() {\n  case $1:$2 in\n";
  for (const auto& [answer, pattern] : patterns) {
    text += fmt::format("    {}) echo '{}' ;;\n", pattern, answer);
  }
  return text + "  esac\n}\n\n";
}

std::string Options(std::span<const DescribedCommand> commands) {
  std::string text = "_onnx_tag_options() {\n  case $1 in\n";
  for (const DescribedCommand& command : commands) {
    std::string names;
    for (const DescribedOption& option : command.options) {
      for (const std::string& name : option.shorts) AddWord(names, "-" + name);
      for (const std::string& name : option.longs) AddWord(names, "--" + name);
    }
    text += fmt::format("    {}) echo '{}' ;;\n", command.command->name, names);
  }
  return text + "  esac\n}\n\n";
}

constexpr std::string_view kBashFunctions =
    R"bash(# Files of these kinds and folders; all files where there are none.
_onnx_tag_models() {
  local file
  compopt -o filenames
  while IFS= read -r file; do
    if [[ -d $file || $file == *.onnx || $file == *.json ]]; then
      COMPREPLY+=("$file")
    fi
  done < <(compgen -f -- "$1")
  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_onnx_tag_expression() {  # FIELD or nothing, then what is typed
  local word
  for word in $_onnx_tag_query; do
    if [[ -z $1 ]]; then
      [[ $word == "$2"* ]] && COMPREPLY+=("$word")
    elif [[ $word == "$1="?* && ${word#*=} == "$2"* ]]; then
      COMPREPLY+=("${word#*=}")
    fi
  done
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}

_onnx_tag() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local command=tag key='' first=1 arguments=0 i word value
  COMPREPLY=()
  # Readline takes --name=value and field=value for three words.
  if [[ $cur == '=' ]]; then
    key=$prev cur=''
  elif [[ $prev == '=' ]]; then
    key=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    if [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "--help --version $(_onnx_tag_options tag)" -- "$cur")
      return
    fi
    _onnx_tag_models "$cur"
    for word in $_onnx_tag_commands; do
      [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
    return
  fi
  for word in $_onnx_tag_commands; do
    if [[ ${COMP_WORDS[1]} == "$word" ]]; then command=$word first=2; fi
  done
  # Arguments before this one; the value of an option is none.
  for ((i = first; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -?* ]]; then
      [[ -n $(_onnx_tag_value "$command" "$word") ]] && ((i++))
      [[ ${COMP_WORDS[i]} == '=' ]] && ((i++))
    else
      ((++arguments))
    fi
  done
  [[ -z $key && $prev == -* ]] && key=$prev
  if [[ $key == -* ]]; then
    value=$(_onnx_tag_value "$command" "$key")
    case $value in
      '') ;;
      @file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
      @folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
      @other) return ;;
      *) mapfile -t COMPREPLY < <(compgen -W "$value" -- "$cur"); return ;;
    esac
  fi
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_onnx_tag_options "$command")" -- "$cur")
  elif [[ " $_onnx_tag_asking " == *" $command "* ]] && ((arguments > 0)); then
    [[ $key == -* ]] && key=''
    _onnx_tag_expression "$key" "$cur"
  else
    _onnx_tag_models "$cur"
  fi
}

complete -F _onnx_tag onnx-tag
)bash";

}  // namespace

std::string BashCompletion(std::span<const DescribedCommand> commands) {
  std::string names;
  std::string asking;
  for (const DescribedCommand& command : commands) {
    const std::string name(command.command->name);
    AddWord(names, name);
    if (command.expression() >= 0) AddWord(asking, name);
  }
  std::string query;
  for (const std::string& word : QueryWords()) AddWord(query, word);
  return fmt::format(
             "# bash completion for onnx-tag; the build makes it from the "
             "table of commands.\n"
             "_onnx_tag_commands='{}'\n"
             "# Commands that take a query, and what can be in one.\n"
             "_onnx_tag_asking='{}'\n"
             "_onnx_tag_query='{}'\n\n",
             names, asking, query) +
         Values(commands) + Options(commands) + std::string(kBashFunctions);
}

}  // namespace onnx_tag::cli
