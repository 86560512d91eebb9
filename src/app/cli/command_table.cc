#include "app/cli/command_table.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/text.h"

namespace onnx_tag::cli {

std::span<const Command> Commands() {
  static const std::array commands = {
      kTag,     kShow,     kQuery,   kSelect, kExplain,    kExport,     kStrip,
      kScrub,   kTransfer, kDiff,    kReport, kCheck,      kProfile,    kFilt,
      kWeights, kTap,      kExtract, kSplit,  kStrategies, kCompletion, kMan};
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
      "       onnx-tag COMMAND [options]\n\n"
      "commands:\n";
  for (const Command& command : Commands()) {
    text += fmt::format("  {:<11} {}\n", command.name, command.help);
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
std::string Names(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string names;
  const auto add = [&](std::string_view dashes, const std::string& name) {
    if (!names.empty()) names += ", ";
    names += dashes;
    names += name;
  };
  for (const std::string& name : option.get_snames()) add("-", name);
  for (const std::string& name : option.get_lnames()) add("--", name);
  if (option.get_items_expected_max() > 0) {
    names += " " + option.get_type_name();
  }
  return names;
}

std::string Row(const CLI::Option& option) {
  std::string row = "  " + Names(option);
  row.resize(std::max(row.size() + 2, kHelpColumn), ' ');
  bool first = true;
  for (const std::string_view line : Split(option.get_description(), '\n')) {
    if (!first) row.append(kHelpColumn, ' ');
    first = false;
    row.append(line).append("\n");
  }
  return row;
}

}  // namespace

std::string HelpText(const CLI::App& app, const Command& command) {
  std::string text =
      fmt::format("onnx-tag {}: {}\n\nusage: onnx-tag {} {}\n", command.name,
                  command.help, command.name, command.usage);
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) {
      groups.push_back(group);
    }
  }
  // The options that every command has come last.
  const auto shared = std::find(groups.begin(), groups.end(), "Terminal");
  if (shared != groups.end()) std::rotate(shared, shared + 1, groups.end());
  for (const std::string& group : groups) {
    text += "\n";
    if (group != "Options") text += group + ":\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == group) text += Row(*option);
    }
  }
  text += fmt::format("\nexamples:\n{}", command.examples);
  return text;
}

}  // namespace onnx_tag::cli
