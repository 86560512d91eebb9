#include "commands/write/write_tagged.h"

#include <fmt/core.h>

#include <optional>

#include "base/text.h"
#include "commands/output/external_data.h"
#include "commands/output/pending_outputs.h"
#include "onnx_tag/error.h"
#include "tagging/sidecar.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {
namespace {

void RefuseBeyondTwoGigabytes(const ModelFile& file, const TagWriter& writer) {
  if (writer.new_size() <= kMaxModelBytes) return;
  Fail(ErrorKind::kOutput,
       "{}: with tags the file would have {} bytes; the limit of protobuf is "
       "{}\n"
       "  write the tags to a sidecar only: --sidecar-only",
       Printable(file.path()), writer.new_size(), kMaxModelBytes);
}

Produce SidecarOf(const ModelFile& file, const Tagging& tagging) {
  const SidecarModel about =
      AboutModel(FileName(file.path()), file.model(), tagging);
  return [&file, &tagging, about](wire::Rewrite::Sink& sink) {
    WriteSidecar(file.model(), tagging, about,
                 [&](Bytes bytes) { sink.Write(bytes); });
  };
}

}  // namespace

bool WriteTagged(const ModelFile& file, const Tagging& tagging, Inputs inputs,
                 const Destinations& destinations, const TagOptions& options,
                 Terminal& terminal, TagSummary& summary) {
  AddModelInputs(file, inputs);
  // Nothing is written before Write().
  PendingOutputs outputs(file.file(), inputs, options.write, terminal);
  summary.file = file.path();
  summary.dry_run = options.write.dry_run;
  summary.output = destinations.model;
  summary.sidecar = destinations.sidecar;
  std::optional<TagWriter> writer;
  if (!summary.output.empty()) {
    writer.emplace(file.model(), tagging, options.keys);
    RefuseBeyondTwoGigabytes(file, *writer);
    outputs.AddTaggedModel(
        summary.output, writer->new_size(),
        [&](wire::Rewrite::Sink& sink) { writer->Write(sink); });
    if (!options.write.in_place) {
      CarryExternalData(file, summary.output, options.write.data, outputs);
    }
  }
  if (!summary.sidecar.empty()) {
    outputs.AddSidecar(summary.sidecar, SidecarOf(file, tagging));
  }
  outputs.Finish();
  summary.output_fate = outputs.FateOf(summary.output);
  summary.sidecar_fate = outputs.FateOf(summary.sidecar);
  return outputs.streams() && !options.write.dry_run;
}

}  // namespace onnx_tag
