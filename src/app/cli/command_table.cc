#include "app/cli/command_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "generated/overview.h"

namespace onnx_tag::cli {

std::span<const Command> Commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (const CommandGroup& group : CommandGroups()) {
      all.insert(all.end(), group.commands.begin(), group.commands.end());
    }
    return all;
  }();
  return commands;
}

std::vector<std::string_view> CommandNames() { return NamesOf(Commands()); }

const Command* FindCommand(std::string_view name) {
  return FindNamed(Commands(), name);
}

std::string WithCommands(std::string_view text, std::string_view commands) {
  constexpr std::string_view kPlace = "$commands";
  const std::size_t at = text.find(kPlace);
  return fmt::format("{}{}{}\n", text.substr(0, at), commands,
                     text.substr(at + kPlace.size()));
}

std::string OverviewText() {
  std::string commands;
  for (const CommandGroup& group : CommandGroups()) {
    commands += fmt::format("\n{}:\n", group.job);
    for (const Command& command : group.commands) {
      commands += fmt::format("  {:<11} {}\n", command.name, command.help);
    }
  }
  return WithCommands(kOverview, commands);
}

namespace {

constexpr std::size_t kHelpColumn = 30;

// "-s, --strategy NAME", "--keep-going, --fail-fast", "MODEL"
std::string HelpRow(const OptionRow& option) {
  std::string row = "  " + Join(option.names);
  if (!option.value.empty()) row += " " + option.value;
  row.resize(std::max(row.size() + 2, kHelpColumn), ' ');
  bool first = true;
  for (const std::string_view line : Split(option.help, '\n')) {
    if (!first) row.append(kHelpColumn, ' ');
    first = false;
    row.append(line).append("\n");
  }
  return row;
}

}  // namespace

std::vector<OptionRow> OptionsOf(const Command& command) {
  Parser parser(fmt::format("onnx-tag {}", command.name));
  try {
    command.parse(parser, {"--help"});
  } catch (const HelpWanted&) {
  }
  return parser.rows();
}

std::vector<std::string> GroupsOf(std::span<const OptionRow> rows) {
  std::vector<std::string> groups;
  for (const OptionRow& row : rows) {
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) {
      groups.push_back(row.group);
    }
  }
  return groups;
}

std::string HelpText(const Command& command) {
  std::string text =
      fmt::format("onnx-tag {}: {}\n\nusage: onnx-tag {} {}\n", command.name,
                  command.help, command.name, command.usage);
  const std::vector<OptionRow> rows = OptionsOf(command);
  std::vector<std::string> groups = GroupsOf(rows);
  // The options that every command has come last.
  const auto shared = std::find(groups.begin(), groups.end(), "Terminal");
  if (shared != groups.end()) std::rotate(shared, shared + 1, groups.end());
  for (const std::string& group : groups) {
    text += "\n";
    if (!group.empty()) text += group + ":\n";
    for (const OptionRow& row : rows) {
      if (row.group == group) text += HelpRow(row);
    }
  }
  text += fmt::format("\nexamples:\n{}", command.examples);
  return text;
}

std::string EitherOf(std::span<const std::string_view> words,
                     std::size_t width) {
  std::string text;
  std::size_t line = 0;  // where it begins
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t left = words.size() - i;
    std::string word(words[i]);
    if (left > 2) word += ',';
    if (left == 2) word.append(" or ").append(words[++i]);
    const bool fits =
        width == 0 || text.size() - line + 1 + word.size() <= width;
    if (!text.empty()) text += fits ? ' ' : '\n';
    if (!fits) line = text.size();
    text += word;
  }
  return text;
}

}  // namespace onnx_tag::cli
