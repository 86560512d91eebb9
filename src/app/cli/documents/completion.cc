// Tested by tests/app/cli/documents_test.cc and tests/shells.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "app/cli/command_table.h"
#include "base/embed.h"
#include "base/parse_number.h"
#include "core/query/parser.h"

// One script for each shell; all ask the program. Readline takes --name=value
// and field=value for three words. Without an offer PowerShell completes names
// of files.
ONNX_TAG_EMBED(onnx_tag_bash, ONNX_TAG_COMPLETION ".bash");
ONNX_TAG_EMBED(onnx_tag_zsh, ONNX_TAG_COMPLETION ".zsh");
ONNX_TAG_EMBED(onnx_tag_fish, ONNX_TAG_COMPLETION ".fish");
ONNX_TAG_EMBED(onnx_tag_powershell, ONNX_TAG_COMPLETION ".ps1");

namespace onnx_tag::cli {
namespace {

// The lines of an answer, without the words that do not continue `typed`.
class Answer {
 public:
  explicit Answer(std::string typed) : typed_(std::move(typed)) {}

  void Add(std::string_view word, std::string_view help = "") {
    if (word.starts_with(typed_)) {
      text_ += fmt::format("{}\t{}\n", word, help);
    }
  }
  // ":files"
  void Files(std::string_view kind) { text_ += fmt::format("{}\n", kind); }
  std::string Take() { return std::move(text_); }

 private:
  std::string typed_;
  std::string text_;
};

void AddOptions(std::span<const OptionRow> rows, Answer& answer) {
  for (const OptionRow& row : rows) {
    if (row.argument) continue;
    for (const std::string& name : row.names) {
      answer.Add(name, OneLine(row.help));
    }
  }
}

// `before` is "--name=" if the value is part of the same word.
void AddValues(const OptionRow& row, const std::string& before,
               Answer& answer) {
  if (row.value == "FILE") answer.Files(":files");
  if (row.value == "DIR") answer.Files(":folders");
  for (const std::string_view word : row.words) {
    answer.Add(before + std::string(word));
  }
}

// "type=" for every field of a query, and "type=attention" for each word of a
// field that has a list of words.
void AddQuery(Answer& answer) {
  for (const query::FieldInfo& field : query::Fields()) {
    const std::string name(field.name);
    if (field.field == query::Field::kUntagged) {
      answer.Add(name, field.help);
      continue;
    }
    answer.Add(name + "=", field.help);
    for (const std::string_view word : field.words) {
      answer.Add(name + "=" + std::string(word));
    }
  }
  for (const std::string_view word : {"and", "or", "not"}) answer.Add(word);
}

void AddArgument(const OptionRow& row, Answer& answer) {
  const std::string& name = row.names.front();
  if (name == "EXPR") {
    AddQuery(answer);
  } else if (name == "SHELL") {
    for (const std::string_view shell : kShellNames) answer.Add(shell);
  } else if (name == "COMMAND") {
    for (const Command& command : Commands()) {
      answer.Add(command.name, command.help);
    }
  } else if (name == "NODE") {
    // Its names are in the model, which completion does not read.
  } else {
    answer.Files(name == "PROFILE" || name == "SECOND" ? ":files" : ":models");
  }
}

const OptionRow* FindRow(std::span<const OptionRow> rows,
                         std::string_view name) {
  for (const OptionRow& row : rows) {
    if (std::find(row.names.begin(), row.names.end(), name) !=
        row.names.end()) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string CompletionScript(std::size_t shell) {
  const std::array scripts = {
      ONNX_TAG_EMBEDDED(onnx_tag_bash), ONNX_TAG_EMBEDDED(onnx_tag_zsh),
      ONNX_TAG_EMBEDDED(onnx_tag_fish), ONNX_TAG_EMBEDDED(onnx_tag_powershell)};
  return std::string(scripts[shell]);
}

Result RunCompletion(const CompletionOptions& options, Terminal&) {
  Result result;
  result.document = CompletionScript(options.shell);
  return result;
}

std::string Completions(Words words) {
  if (words.empty()) return "";
  const auto count = ParseWhole<std::size_t>(words.front());
  words.erase(words.begin());
  if (!count || *count < words.size() || *count > words.size() + 1) return "";
  words.resize(*count);
  if (words.empty()) return "";
  const std::string typed = words.back();
  words.pop_back();
  Answer answer(typed);

  const Command* command = words.empty() ? nullptr : FindCommand(words.front());
  if (command != nullptr) words.erase(words.begin());
  if (words.empty() && command == nullptr) {
    if (typed.starts_with('-')) {
      answer.Add("--version", "print the version");
    } else {
      answer.Files(":models");
    }
    for (const Command& each : Commands()) answer.Add(each.name, each.help);
  }
  const std::vector<OptionRow> rows =
      OptionsOf(command != nullptr ? *command : *FindCommand("tag"));

  // Which argument is being typed, or the value of which option.
  std::size_t arguments = 0;
  const OptionRow* open = nullptr;
  for (const std::string& word : words) {
    const OptionRow* const row = FindRow(rows, word);
    const bool value = open != nullptr;
    open =
        row != nullptr && !row->argument && !row->value.empty() ? row : nullptr;
    if (!value && !(word.starts_with('-') && word.size() > 1)) ++arguments;
  }
  const std::size_t equals = typed.find('=');
  if (open != nullptr) {
    AddValues(*open, "", answer);
  } else if (typed.starts_with("--") && equals != std::string::npos) {
    const OptionRow* const row = FindRow(rows, typed.substr(0, equals));
    if (row != nullptr) AddValues(*row, typed.substr(0, equals + 1), answer);
  } else if (typed.starts_with('-')) {
    AddOptions(rows, answer);
  } else if (command != nullptr || !words.empty()) {
    for (const OptionRow& row : rows) {
      if (!row.argument) continue;
      if (arguments == 0 || row.repeats) {
        AddArgument(row, answer);
        break;
      }
      --arguments;
    }
  }
  return answer.Take();
}

}  // namespace onnx_tag::cli
