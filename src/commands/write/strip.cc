#include <fmt/core.h>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/write/external_data.h"
#include "commands/write/output_paths.h"
#include "commands/write/pending_outputs.h"
#include "model/model_file.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {

ExitCode RunStrip(const StripOptions& options, Terminal& terminal) {
  const ModelFile file = ModelFile::Open(options.model);
  TagWriter writer(file.model());
  const std::string path = OutputPath(options.model, options.write, "stripped");
  PendingOutputs outputs(file.file(), options.write, terminal);
  outputs.AddModel(path, writer.new_size(),
                   [&](wire::Rewrite::Sink& sink) { writer.Write(sink); });
  if (!options.write.in_place) {
    CarryExternalData(file, path, options.write.data, outputs);
  }
  RefuseToReplaceWeights(file, path);
  WarnOfExternalData(file, terminal);
  outputs.Judge();
  if (!options.write.dry_run) {
    outputs.Write();
    outputs.Commit();
  }
  if (options.quiet) return ExitCode::kOk;

  const bool unchanged =
      outputs.FateOf(path) == PendingOutputs::Fate::kUnchanged;
  const std::string text = fmt::format(
      "{}: {}\n  {} {}\n",
      options.model == "-" ? "standard input" : Printable(options.model),
      writer.changes()
          ? fmt::format("removed {} bytes of tags",
                        WithThousands(file.file().size() - writer.new_size()))
          : "no tags found",
      unchanged               ? "unchanged"
      : options.write.dry_run ? "would write"
                              : "wrote",
      path == "-" ? "standard output" : Printable(path));
  if (path == "-" && !options.write.dry_run) {
    terminal.Err(text);
  } else {
    terminal.Out(text);
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
