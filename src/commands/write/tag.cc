#include <fmt/core.h>

#include <optional>

#include "base/text.h"
#include "commands/batch/batch.h"
#include "commands/commands.h"
#include "commands/read/fact_files.h"
#include "commands/write/external_data.h"
#include "commands/write/gates.h"
#include "commands/write/node_lines.h"
#include "commands/write/skip_current.h"
#include "commands/write/tag_file.h"
#include "commands/write/write_tagged.h"
#include "io/folder.h"
#include "model/model_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Where --skip-current finds nothing to do, the sidecar has the counts.
bool IsCurrent(const std::string& input, const Destinations& destinations,
               const TagOptions& options, const MappingFacts::Digests& facts,
               TagReport& report) {
  const std::optional<SidecarGlance> glance =
      CurrentSidecar(input, destinations, options, facts);
  if (!glance) return false;
  report.current = true;
  report.coverage = glance->coverage;
  report.dialect = glance->model.dialect;
  report.root_class = glance->root_class;
  report.findings = FindingsOfCurrent(destinations.sidecar, *glance, options);
  return true;
}

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

void TagFile(const std::string& input, const Destinations& destinations,
             const TagOptions& options, const MappingFacts& facts,
             const NodeLines& nodes, Terminal& terminal, TagReport& report) {
  TagSummary& summary = report.summary;
  summary.file = input;
  summary.dry_run = options.write.dry_run;
  if (options.skip_current &&
      IsCurrent(input, destinations, options, facts.digests, report)) {
    return;
  }
  if (input != "-" && IsFolder(input)) {
    Fail(ErrorKind::kInput,
         "{}: is a folder\n  tag the models in it with --recursive",
         Printable(input));
  }
  const ModelFile file = ModelFile::Open(input);
  Tagging tagging = file.Map([&](const Model& model) {
    return MapNodes(model, options.mapping, facts);
  });
  tagging.options = OptionsDigest(options, facts.digests);
  report.coverage = CountTags(tagging);
  report.dialect = tagging.dialect;
  report.root_class = tagging.root.name;
  report.warnings = ExternalDataWarnings(file);
  for (const std::string& note : tagging.notes) {
    report.warnings.push_back(Printable(note, kLongestNote));
  }
  Inputs inputs;
  AddFactFiles(options.mapping, inputs);
  inputs.Add(options.inputs.files_from, "--files-from");
  report.streams = WriteTagged(file, tagging, std::move(inputs), destinations,
                               options, terminal, summary);
  report.findings = UnmetGates(tagging, options);
  if (nodes) {
    WriteNodeLines(input, file.model(), tagging, nodes);
    // After --in-place the name is the new file's, and ours is as it was.
    if (!options.write.in_place) file.file().CheckUnchanged();
  }
}

ExitCode RunTag(const TagOptions& options, Terminal& terminal) {
  const MappingFacts facts = ReadFacts(options.mapping);
  return IsBatch(options)
             ? RunBatch(options, facts, terminal)
             : TagOne(options.models.front(), options, facts, terminal);
}

}  // namespace onnx_tag
