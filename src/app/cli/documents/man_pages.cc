// Tested by tests/app/cli/documents_test.cc.
#include <fmt/core.h>

#include <algorithm>

#include "app/cli/command_table.h"
#include "app/commands/commands.h"
#include "base/text.h"
#include "core/query/parser.h"
#include "generated/exit_status.h"
#include "generated/man_page.h"

namespace onnx_tag::cli {
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

std::string Item(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, Roff(text));
}

std::string OptionItems(std::span<const OptionRow> rows) {
  std::string text;
  for (const std::string& group : GroupsOf(rows)) {
    if (!group.empty()) text += ".SS " + Roff(group) + "\n";
    for (const OptionRow& row : rows) {
      if (row.group != group || row.argument) continue;
      std::string names;
      for (const std::string& name : row.names) {
        names +=
            fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Roff(name));
      }
      if (!row.value.empty()) names += " \\fI" + Roff(row.value) + "\\fR";
      std::string help = OneLine(row.help);
      // Words that the help does not list already.
      if (!row.words.empty() &&
          help.find(row.words.front()) == std::string::npos) {
        help += "; one of: " + Join(row.words);
      }
      text += Item(names, help);
    }
  }
  return text;
}

std::string Fields() {
  std::vector<std::string> ordered;
  for (const query::FieldInfo& field : query::Fields()) {
    if (field.ordered) ordered.push_back(fmt::format("\\fB{}\\fR", field.name));
  }
  std::string text =
      ".SH QUERY\nConditions on these fields, joined by \\fBand\\fR, "
      "\\fBor\\fR, \\fBnot\\fR and parentheses. \\fB=\\fR and \\fB!=\\fR "
      "compare; " +
      Join(ordered) +
      " also take \\fB<\\fR, \\fB<=\\fR, \\fB>\\fR and \\fB>=\\fR; \\fBin (A, "
      "B)\\fR is one of several. \\fB*\\fR matches within a name, \\fB**\\fR "
      "also matches separators.\n";
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

}  // namespace

std::string OverviewPage() {
  std::string commands;
  for (const CommandGroup& group : CommandGroups()) {
    commands += fmt::format(".SS {}\n", group.job);
    for (const Command& command : group.commands) {
      commands += Item(fmt::format("\\fBonnx\\-tag\\-{}\\fR(1)", command.name),
                       command.help);
    }
  }
  commands.append(kExitStatus).append("\n");
  return Head("onnx-tag",
              "find the module that produced each node of an ONNX file") +
         WithCommands(kManPage, commands);
}

std::string CommandPage(const Command& command) {
  const std::vector<OptionRow> rows = OptionsOf(command);
  std::string text =
      Head(fmt::format("onnx-tag-{}", command.name), command.help);
  text += fmt::format(".SH SYNOPSIS\n\\fBonnx\\-tag {}\\fR {}\n", command.name,
                      Roff(command.usage));
  std::string arguments;
  bool query = false;
  for (const OptionRow& row : rows) {
    if (!row.argument) continue;
    query = query || row.names.front() == "EXPR";
    arguments +=
        Item("\\fI" + Roff(row.names.front()) + "\\fR", OneLine(row.help));
  }
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  text += ".SH OPTIONS\n" + OptionItems(rows);
  if (query) text += Fields();
  text += ".SH EXAMPLES\n.nf\n";
  for (std::string_view line : Split(command.examples, '\n')) {
    if (line.empty()) continue;
    if (line.starts_with("  ")) line.remove_prefix(2);
    text += Roff(line) + "\n";
  }
  text += ".fi\n";
  text.append(kExitStatus);
  text += "\n.SH SEE ALSO\n\\fBonnx\\-tag\\fR(1)\n";
  return text;
}

Result RunMan(const ManOptions& options, Terminal&) {
  Result result;
  result.document = options.command.empty()
                        ? OverviewPage()
                        : CommandPage(*FindCommand(options.command));
  return result;
}

}  // namespace onnx_tag::cli
