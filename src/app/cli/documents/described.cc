// Tested by tests/app/cli/documents_test.cc.
#include "app/cli/documents/described.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <span>

#include "app/cli/options.h"
#include "app/commands/commands.h"
#include "base/text.h"
#include "core/query/fields.h"

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

// Tested by tests/app/cli/documents_test.cc.

namespace {

// Text as roff takes it: no escapes, no requests, and hyphens that can be
// copied from the page.
std::string Roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Head(std::string_view page, std::string_view help) {
  std::string title(page);
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return fmt::format(
      ".TH {} 1 \"\" \"onnx\\-tag {}\" \"User Commands\"\n.SH NAME\n{} \\- "
      "{}\n",
      Roff(title), ToolVersion(), Roff(page), Roff(help));
}

std::string Names(const DescribedOption& option) {
  std::string names;
  const auto add = [&](const std::string& name) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Roff(name));
  };
  for (const std::string& name : option.shorts) add("-" + name);
  for (const std::string& name : option.longs) add("--" + name);
  if (!option.value.empty()) names += " \\fI" + Roff(option.value) + "\\fR";
  return names;
}

std::string Item(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, Roff(text));
}

std::string OptionItems(const DescribedCommand& command) {
  std::string text;
  std::vector<std::string> groups;
  for (const DescribedOption& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  for (const std::string& group : groups) {
    if (group != "Options") text += ".SS " + Roff(group) + "\n";
    for (const DescribedOption& option : command.options) {
      if (option.group != group) continue;
      std::string help = option.help;
      // Words that the help does not list already.
      if (!option.words.empty() &&
          help.find(option.words.front()) == std::string::npos) {
        help += "; one of: ";
        for (std::size_t i = 0; i < option.words.size(); ++i) {
          help += (i == 0 ? "" : ", ") + option.words[i];
        }
      }
      text += Item(Names(option), help);
    }
  }
  return text;
}

std::string Fields() {
  std::string text =
      ".SH QUERY\nConditions on these fields, joined by \\fBand\\fR, "
      "\\fBor\\fR, \\fBnot\\fR and parentheses. \\fB=\\fR and \\fB!=\\fR "
      "compare; \\fBlayer\\fR and \\fBconfidence\\fR also take \\fB<\\fR, "
      "\\fB<=\\fR, \\fB>\\fR and \\fB>=\\fR; \\fBin (A, B)\\fR is one of "
      "several. \\fB*\\fR matches within a name, \\fB**\\fR also matches "
      "separators.\n";
  for (const query::FieldInfo& field : query::Fields()) {
    std::string help(field.help);
    std::string_view before = ": ";
    for (const std::string_view word : field.words) {
      if (field.help.find(word) != std::string_view::npos) continue;
      help += std::string(before) + std::string(word);
      before = ", ";
    }
    text += Item("\\fB" + Roff(field.name) + "\\fR", help);
  }
  return text;
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nsuccess\n"
    ".TP\n1\nsuccess with findings: a gate failed, models differ, no match\n"
    ".TP\n2\ninvalid usage, or an invalid query, rules file or recording\n"
    ".TP\n3\nthe input is not a readable model\n"
    ".TP\n4\nan output could not be written\n"
    ".TP\n5\nsome of several models failed\n";

}  // namespace

std::string OverviewPage() {
  std::string text = Head(
      "onnx-tag", "find the module that produced each node of an ONNX file");
  text +=
      ".SH SYNOPSIS\n\\fBonnx\\-tag\\fR \\fIMODEL\\fR...\n.br\n"
      "\\fBonnx\\-tag\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\nonnx\\-tag finds the module of the PyTorch model that "
      "produced each node of an ONNX file. For each node it gives the path and "
      "class of the module, the role of the node, the confidence and the "
      "reason. It writes this into the metadata of the node and into a JSON "
      "file, and changes nothing else. Without a command, \\fBtag\\fR is "
      "assumed.\n.SH COMMANDS\n";
  for (const Command& command : Commands()) {
    text += Item(fmt::format("\\fBonnx\\-tag\\-{}\\fR(1)", command.name),
                 command.help);
  }
  text += kExitStatus;
  text +=
      ".SH FILES\n"
      ".TP\n\\fIMODEL\\fR.tagged.onnx\nthe model with its tags\n"
      ".TP\n\\fIMODEL\\fR.tags.json\nthe same tags as JSON, the sidecar\n"
      ".SH ENVIRONMENT\n"
      ".TP\nNO_COLOR\nif set, no output is coloured\n";
  return text;
}

std::string CommandPage(const DescribedCommand& described) {
  const Command& command = *described.command;
  std::string text =
      Head(fmt::format("onnx-tag-{}", command.name), command.help);
  text += fmt::format(".SH SYNOPSIS\n\\fBonnx\\-tag {}\\fR {}\n", command.name,
                      Roff(command.usage));
  if (!described.positionals.empty()) {
    text += ".SH ARGUMENTS\n";
    for (const DescribedPositional& positional : described.positionals) {
      text += Item("\\fI" + Roff(positional.name) + "\\fR", positional.help);
    }
  }
  text += ".SH OPTIONS\n" + OptionItems(described);
  if (described.expression() >= 0) text += Fields();
  text += ".SH EXAMPLES\n.nf\n";
  for (std::string_view line : Split(command.examples, '\n')) {
    if (line.empty()) continue;
    if (line.starts_with("  ")) line.remove_prefix(2);
    text += Roff(line) + "\n";
  }
  text += ".fi\n";
  text += kExitStatus;
  text += ".SH SEE ALSO\n\\fBonnx\\-tag\\fR(1)\n";
  return text;
}

}  // namespace onnx_tag::cli
