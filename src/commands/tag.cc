#include <fmt/core.h>

#include <unordered_map>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/external_data.h"
#include "commands/fact_files.h"
#include "commands/gates.h"
#include "commands/output_paths.h"
#include "commands/pending_outputs.h"
#include "commands/tag_summary.h"
#include "model/model_file.h"
#include "onnx_tag/error.h"
#include "tagging/sidecar.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {
namespace {

void RefuseBeyondTwoGigabytes(const ModelFile& file, const TagWriter& writer) {
  if (writer.new_size() <= kMaxModelBytes) return;
  const std::string name = Printable(file.path());
  Fail(ErrorKind::kOutput,
       "{}: tags would make the file {} bytes; protobuf readers stop at {}\n"
       "  write them beside the model instead: onnx-tag {} --sidecar-only",
       name, writer.new_size(), kMaxModelBytes, name);
}

Produce SidecarOf(const ModelFile& file, const Tagging& tagging) {
  const SidecarModel about =
      AboutModel(FileName(file.path()), file.model(), tagging);
  return [&file, &tagging, about](wire::Rewrite::Sink& sink) {
    WriteSidecar(file.model(), tagging, about,
                 [&](Bytes bytes) { sink.Write(bytes); });
  };
}

void Print(const TagSummary& summary, const Tagging& tagging, bool to_stderr,
           const TagOptions& options, Terminal& terminal) {
  if (options.quiet && !options.json) return;
  const std::string text = options.json ? SummaryJson(summary, tagging)
                                        : SummaryText(summary, tagging);
  if (to_stderr) {
    terminal.Err(text);
  } else {
    terminal.Out(text);
  }
}

ExitCode ReportGates(const std::string& input, const Tagging& tagging,
                     const TagOptions& options, Terminal& terminal) {
  const std::vector<std::string> findings = UnmetGates(tagging, options);
  for (const std::string& finding : findings) {
    terminal.Complain(
        fmt::format("onnx-tag: {}: {}\n", Printable(input), finding));
  }
  return findings.empty() ? ExitCode::kOk : ExitCode::kFindings;
}

ExitCode TagFile(const std::string& input, const TagOptions& options,
                 Terminal& terminal) {
  const ModelFile file = ModelFile::Open(input);
  const Tagging tagging = MapNodes(file.model(), options.mapping);
  // From here on both are read only; nothing is written before Write().
  PendingOutputs outputs(file.file(), options.write, terminal);
  TagSummary summary;
  summary.file = input;
  summary.dry_run = options.write.dry_run;
  std::optional<TagWriter> writer;
  if (!options.sidecar_only) {
    writer.emplace(file.model(), tagging, options.keys);
    RefuseBeyondTwoGigabytes(file, *writer);
    summary.output = OutputPath(input, options.write, "tagged");
    outputs.AddModel(summary.output, writer->new_size(),
                     [&](wire::Rewrite::Sink& sink) { writer->Write(sink); });
    if (!options.write.in_place) {
      CarryExternalData(file, summary.output, options.write.data, outputs);
    }
  }
  summary.sidecar = SidecarPath(input, summary.output, options);
  if (!summary.sidecar.empty()) {
    outputs.AddSidecar(summary.sidecar, SidecarOf(file, tagging));
  }
  RefuseToReplaceWeights(file, summary.output);
  RefuseToReplaceWeights(file, summary.sidecar);
  WarnOfExternalData(file, terminal);
  outputs.Judge();
  if (!options.write.dry_run) {
    outputs.Write();
    outputs.Commit();
  }
  SayNotes(input, tagging, terminal);
  summary.output_fate = outputs.FateOf(summary.output);
  summary.sidecar_fate = outputs.FateOf(summary.sidecar);
  Print(summary, tagging, outputs.streams() && !options.write.dry_run, options,
        terminal);
  return ReportGates(input, tagging, options, terminal);
}

// With --out-dir two inputs may have one name; the second would silently
// replace the first, as a file of ours.
void RefuseSharedOutputs(const TagOptions& options) {
  if (options.write.folder.empty()) return;
  std::unordered_map<std::string, std::string> seen;
  for (const std::string& model : options.models) {
    const auto [at, added] = seen.emplace(WithoutOnnx(FileName(model)), model);
    if (added) continue;
    Fail(ErrorKind::kUsage,
         "{} and {} would be written to the same file in {}\n  tag them in "
         "two runs",
         Printable(at->second), Printable(model),
         Printable(options.write.folder));
  }
}

}  // namespace

ExitCode RunTag(const TagOptions& asked, Terminal& terminal) {
  TagOptions options = asked;
  options.mapping = WithFacts(asked.mapping);
  if (options.models.size() == 1) {
    return TagFile(options.models.front(), options, terminal);
  }
  RefuseSharedOutputs(options);
  ExitCode result = ExitCode::kOk;
  std::size_t done = 0;
  for (const std::string& model : options.models) {
    terminal.Progress(fmt::format("{} of {}: {}", ++done, options.models.size(),
                                  Printable(model, 60)));
    try {
      const ExitCode one = TagFile(model, options, terminal);
      if (result == ExitCode::kOk) result = one;
    } catch (const std::exception& error) {
      terminal.Complain(ErrorText(error));
      result = ExitCode::kSomeFailed;
      if (options.fail_fast) break;
    }
  }
  terminal.EndProgress();
  return result;
}

}  // namespace onnx_tag
