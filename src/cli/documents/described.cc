// Tested by tests/cli/documents_test.cc.
#include "cli/documents/described.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <span>

#include "cli/options.h"
#include "query/fields.h"

namespace onnx_tag::cli {
namespace {

using NameList = std::span<const std::string_view>;

// Options with a list of words. A command's own entry precedes the one for all
// commands.
struct Choices {
  std::string_view command;  // empty: all
  std::string_view option;
  NameList words;
};

NameList StrategyNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    for (const StrategyInfo& strategy : Strategies()) {
      result.push_back(strategy.name);
    }
    return result;
  }();
  return names;
}

const std::vector<Choices>& AllChoices() {
  static const std::vector<Choices> choices = {
      {"", "strategy", StrategyNames()},
      {"", "granularity", kGranularityNames},
      {"", "min-confidence", kConfidenceNames},
      {"", "data", kDataNames},
      {"", "keys", kKeyNames},
      {"", "color", kColorNames},
      {"tag", "format", kReportFormatNames},
      {"check", "format", kReportFormatNames},
      {"scrub", "format", kReportFormatNames},
      {"filt", "format", kFiltFormatNames},
      {"diff", "format", kDiffFormatNames},
      {"diff", "by", kDiffByNames},
      {"select", "for", kSelectToolNames},
      {"select", "format", kSelectFormatNames},
      {"select", "precision", kPrecisionNames},
      {"export", "to", kExportFormatNames},
      {"profile", "by", kProfileKeyNames},
      {"profile", "format", kProfileFormatNames},
  };
  return choices;
}

std::vector<std::string> WordsOf(std::string_view command,
                                 std::string_view option) {
  for (const Choices& choices : AllChoices()) {
    if (choices.option == option &&
        (choices.command.empty() || choices.command == command)) {
      return {choices.words.begin(), choices.words.end()};
    }
  }
  return {};
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool TakesMany(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

DescribedOption Describe(const CLI::Option& option, const Command& command) {
  DescribedOption described;
  described.shorts = option.get_snames();
  described.longs = option.get_lnames();
  if (option.get_items_expected_max() > 0) {
    described.value = option.get_type_name();
    described.repeats = TakesMany(option);
  }
  described.help = OneLine(option.get_description());
  described.group = option.get_group();
  if (!described.longs.empty()) {
    described.words = WordsOf(command.name, described.longs.front());
  }
  return described;
}

}  // namespace

int DescribedCommand::expression() const {
  for (std::size_t i = 0; i < positionals.size(); ++i) {
    if (positionals[i].name == "EXPR") return static_cast<int>(i);
  }
  return -1;
}

std::vector<DescribedCommand> DescribeCommands() {
  std::vector<DescribedCommand> commands;
  for (const Command& command : Commands()) {
    DescribedCommand described;
    described.command = &command;
    const std::unique_ptr<CLI::App> app = OptionsOf(command);
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) {
        described.positionals.push_back({option->get_name(true),
                                         OneLine(option->get_description()),
                                         TakesMany(*option)});
      } else {
        described.options.push_back(Describe(*option, command));
      }
    }
    commands.push_back(std::move(described));
  }
  return commands;
}

std::vector<std::string> QueryWords() {
  std::vector<std::string> words;
  for (const query::FieldInfo& field : query::Fields()) {
    const std::string name(field.name);
    if (field.field == query::Field::kUntagged) {
      words.push_back(name);
      continue;
    }
    words.push_back(name + "=");
    for (const std::string_view word : field.words) {
      words.push_back(name + "=" + std::string(word));
    }
  }
  return words;
}

}  // namespace onnx_tag::cli
