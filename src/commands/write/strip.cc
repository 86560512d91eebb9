#include <fmt/core.h>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/output/destinations.h"
#include "commands/output/external_data.h"
#include "commands/output/pending_outputs.h"
#include "model/model_file.h"
#include "onnx_tag/error.h"
#include "tagging/renames.h"
#include "tagging/tag_format.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {

ExitCode RunStrip(const StripOptions& options, Terminal& terminal) {
  const ModelFile file = ModelFile::Open(options.model);
  const std::string fault = ReadRenames(file.model()).fault;
  if (!fault.empty()) {
    Fail(ErrorKind::kInput,
         "{}: its record of renamed initializers ({}) does not fit the file: "
         "{}\n  strip the file that `weights --rename` wrote, before another "
         "program changes it",
         Printable(options.model), keys::kRenamed, fault);
  }
  TagWriter writer(file.model());
  const std::string path =
      ModelDestination(options.model, options.write, "stripped");
  Inputs inputs;
  AddModelInputs(file, inputs);
  PendingOutputs outputs(file.file(), inputs, options.write, terminal);
  outputs.AddModel(path, writer.new_size(),
                   [&](wire::Rewrite::Sink& sink) { writer.Write(sink); });
  if (!options.write.in_place) {
    CarryExternalData(file, path, options.write.data, outputs);
  }
  WarnOfExternalData(file, terminal);
  outputs.Finish();
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
