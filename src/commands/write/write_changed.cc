// Tested by tests/cli/cases/tag.txt and scrub.txt.
#include "commands/write/write_changed.h"

#include "commands/output/destinations.h"

namespace onnx_tag {

std::string WriteChanged(const std::string& model, const ModelFile& file,
                         const ChangedModel& changed,
                         const WriteOptions& options, Terminal& terminal,
                         Result& result) {
  const std::string path =
      ModelDestination(model, options, std::string(changed.word));
  Inputs inputs;
  AddModelInputs(file, inputs);
  PendingOutputs outputs(file.file(), inputs, options, terminal);
  outputs.AddModel(path, changed.size, changed.write);
  if (!options.in_place) CarryExternalData(file, path, options.data, outputs);
  WarnOfExternalData(file, terminal);
  outputs.Finish();
  result.streams = path == "-" && !options.dry_run;
  const bool same = outputs.FateOf(path) == PendingOutputs::Fate::kUnchanged;
  result.Line("  {} {}",
              same              ? "unchanged"
              : options.dry_run ? "would write"
                                : "wrote",
              ShownOutput(path));
  return path;
}

}  // namespace onnx_tag
