#include "app/cli/command_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace onnx_tag::cli {

std::span<const CommandGroup> CommandGroups() {
  static const std::array groups = {
      CommandGroup{"tag and look",
                   {kTag, kShow, kReport, kExplain, kStrategies}},
      CommandGroup{"ask and select",
                   {kQuery, kSelect, kWeights, kProfile, kFilt, kMcp}},
      CommandGroup{"compare", {kDiff, kTransfer}},
      CommandGroup{"cut and write", {kTap, kExtract, kSplit, kExport}},
      CommandGroup{"keep clean", {kCheck, kStrip, kScrub}},
      CommandGroup{"shell", {kCompletion, kMan}}};
  return groups;
}

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

const Command* FindCommand(std::string_view name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string OverviewText() {
  std::string text =
      "onnx-tag finds the module that produced each node of an ONNX file\n\n"
      "usage: onnx-tag MODEL...            the same as: onnx-tag tag MODEL...\n"
      "       onnx-tag COMMAND [options]\n";
  for (const CommandGroup& group : CommandGroups()) {
    text += fmt::format("\n{}:\n", group.job);
    for (const Command& command : group.commands) {
      text += fmt::format("  {:<11} {}\n", command.name, command.help);
    }
  }
  text +=
      "\n  onnx-tag COMMAND --help         options and examples of a command\n"
      "  onnx-tag --version\n\n"
      "exit codes:\n"
      "  0  success\n"
      "  1  success with findings: a gate failed, models differ, no match, "
      "...\n"
      "  2  invalid usage\n"
      "  3  the input is not a readable model\n"
      "  4  an output could not be written\n"
      "  5  some of several models failed\n";
  return text;
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

}  // namespace onnx_tag::cli
