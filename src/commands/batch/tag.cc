// The command `tag`, for one model; batch.cc has several.
#include <fmt/core.h>

#include "base/text.h"
#include "commands/batch/batch.h"
#include "commands/commands.h"
#include "commands/read/fact_files.h"
#include "commands/write/tag_file.h"

namespace onnx_tag {
namespace {

void PrintWarnings(const TagReport& report, Terminal& terminal) {
  for (const std::string& warning : report.warnings) {
    terminal.Err(fmt::format("onnx-tag: {}: warning: {}\n",
                             Printable(report.summary.file), warning));
  }
}

void Print(const TagReport& report, const TagOptions& options,
           Terminal& terminal) {
  if (options.quiet && !options.json) return;
  const std::string text =
      options.json ? SummaryJson(report.summary, report.coverage,
                                 report.dialect, report.root_class)
      : report.current
          ? fmt::format("{}: up to date\n", Printable(report.summary.file))
          : SummaryText(report.summary, report.coverage);
  if (report.streams || (options.json_nodes && !options.json)) {
    terminal.Err(text);
  } else {
    terminal.Out(text);
  }
}

ExitCode TagOne(const std::string& input, const TagOptions& options,
                const MappingFacts& facts, Terminal& terminal) {
  NodeLines nodes;
  if (options.json_nodes) {
    nodes = [&](std::string_view lines) { terminal.Out(lines); };
  }
  TagReport report;
  try {
    TagFile(input, DestinationsOf(input, options), options, facts, nodes,
            terminal, report);
  } catch (...) {
    PrintWarnings(report, terminal);
    throw;
  }
  PrintWarnings(report, terminal);
  Print(report, options, terminal);
  for (const std::string& finding : report.findings) {
    terminal.Complain(
        fmt::format("onnx-tag: {}: {}\n", Printable(input), finding));
  }
  return report.findings.empty() ? ExitCode::kOk : ExitCode::kFindings;
}

}  // namespace

ExitCode RunTag(const TagOptions& options, Terminal& terminal) {
  const MappingFacts facts = ReadFacts(options.mapping);
  return IsBatch(options)
             ? RunBatch(options, facts, terminal)
             : TagOne(options.models.front(), options, facts, terminal);
}

}  // namespace onnx_tag
