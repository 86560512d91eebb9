// Tested by tests/app/cli/documents_test.cc.
#include <fmt/core.h>

#include "app/cli/documents/described.h"

namespace onnx_tag::cli {
namespace {

// 'a', 'b'; no word of ours has a quote in it.
std::string PowershellList(std::span<const std::string> words) {
  std::string list;
  for (const std::string& word : words) {
    list += (list.empty() ? "'" : ", '") + word + "'";
  }
  return list;
}

constexpr std::string_view kPowershellFunctions = R"powershell(
Register-ArgumentCompleter -Native -CommandName onnx-tag -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $command = 'tag'
  if ($words.Count -gt 0 -and $OnnxTagOptions.ContainsKey($words[0])) { $command = $words[0] }
  $previous = if ($words.Count -gt 0) { $words[-1] } else { '' }
  $values = $OnnxTagValues["$command $previous"]
  if ($values) {
    $offered = $values
  } elseif ($wordToComplete.StartsWith('-')) {
    $offered = $OnnxTagOptions[$command]
  } elseif ($words.Count -eq 0) {
    $offered = $OnnxTagCommands
  } elseif ($OnnxTagAsking -contains $command -and $words.Count -gt 1) {
    $offered = $OnnxTagQuery
  } else {
    $offered = @()
  }
  # Without an offer PowerShell completes names of files.
  $offered | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
)powershell";

}  // namespace

std::string PowershellCompletion(std::span<const DescribedCommand> commands) {
  std::vector<std::string> names;
  std::vector<std::string> asking;
  std::string options = "$OnnxTagOptions = @{\n";
  std::string values = "$OnnxTagValues = @{\n";
  for (const DescribedCommand& command : commands) {
    const std::string name(command.command->name);
    names.push_back(name);
    if (command.expression() >= 0) asking.push_back(name);
    std::vector<std::string> words;
    for (const DescribedOption& option : command.options) {
      std::vector<std::string> spellings;
      for (const std::string& letter : option.shorts) {
        spellings.push_back("-" + letter);
      }
      for (const std::string& word : option.longs) {
        spellings.push_back("--" + word);
      }
      words.insert(words.end(), spellings.begin(), spellings.end());
      if (option.words.empty()) continue;
      for (const std::string& spelling : spellings) {
        values += fmt::format("  '{} {}' = @({})\n", name, spelling,
                              PowershellList(option.words));
      }
    }
    options += fmt::format("  '{}' = @({})\n", name, PowershellList(words));
  }
  return fmt::format(
      "# PowerShell completion for onnx-tag; the program makes it from its "
      "table of commands.\n"
      "$OnnxTagCommands = @({})\n"
      "# Commands that take a query, and what can be in one.\n"
      "$OnnxTagAsking = @({})\n"
      "$OnnxTagQuery = @({})\n"
      "{}}}\n{}}}\n{}",
      PowershellList(names), PowershellList(asking),
      PowershellList(QueryWords()), options, values, kPowershellFunctions);
}

}  // namespace onnx_tag::cli
