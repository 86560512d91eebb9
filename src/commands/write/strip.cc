#include "commands/commands.h"
#include "commands/output/destinations.h"
#include "commands/read/open_model.h"
#include "onnx_tag/error.h"
#include "tagging/renames.h"
#include "tagging/tag_format.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {

Result RunStrip(const StripOptions& options, Terminal& terminal) {
  const ModelFile file = OpenModel(options.model, terminal);
  const std::string fault = ReadRenames(file.model()).fault;
  if (!fault.empty()) {
    Fail(ErrorKind::kOutput,
         "{}: its record of renamed initializers ({}) does not fit the file: "
         "{}\n  strip the file that `weights --rename` wrote, before another "
         "program changes it",
         options.model, keys::kRenamed, fault);
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

  Result result;
  result.streams = path == "-" && !options.write.dry_run;
  result.Line("{}: {}", ShownInput(options.model),
              writer.changes()
                  ? "removed " +
                        WithThousands(file.file().size() - writer.new_size()) +
                        " bytes of tags"
                  : "no tags found");
  const bool same = outputs.FateOf(path) == PendingOutputs::Fate::kUnchanged;
  result.Line("  {} {}",
              same                    ? "unchanged"
              : options.write.dry_run ? "would write"
                                      : "wrote",
              ShownOutput(path));
  return result;
}

}  // namespace onnx_tag
