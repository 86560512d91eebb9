#include <fmt/core.h>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/export/graph_formats.h"
#include "commands/output/pending_outputs.h"
#include "commands/read/node_rows.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

void WriteTsv(const TaggedModel& model, const Write& write) {
  const NodeRows rows(model);
  write(NodeRows::TsvHeader());
  for (const NodeId node : model.nodes().All()) write(rows.TsvLine(node));
}

namespace {

void WriteSidecarOf(const TaggedModel& model, const Write& write) {
  if (model.model() == nullptr) {
    Fail(ErrorKind::kUsage, "--to sidecar needs the model, not a sidecar");
  }
  WriteSidecar(*model.model(), model.tagging(), model.about(), write);
}

using Writer = void (*)(const TaggedModel&, const Write&);

// In the order of ExportFormat.
constexpr std::array<Writer, kExportFormatNames.size()> kWriters = {
    WriteGraphml, WriteDot, WriteTsv, WriteNetron, WriteSidecarOf};

}  // namespace

ExitCode RunExport(const ExportOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const Writer writer = kWriters[static_cast<std::size_t>(options.format)];
  const MappedFile nothing = MappedFile::FromBytes("", options.model);
  WriteOptions write;
  write.force = options.force;
  PendingOutputs outputs(
      model.file() != nullptr ? model.file()->file() : nothing, model.inputs(),
      write, terminal);
  outputs.AddDocument(
      options.output.empty() ? "-" : options.output, "",
      [&](wire::Rewrite::Sink& sink) {
        writer(model, [&](std::string_view text) { sink.Write(text); });
      });
  outputs.Finish();
  return ExitCode::kOk;
}

}  // namespace onnx_tag
