#include "commands/write/tag_file.h"

#include <optional>

#include "base/text.h"
#include "commands/output/external_data.h"
#include "commands/read/fact_files.h"
#include "commands/read/gates.h"
#include "commands/write/skip_current.h"
#include "commands/write/write_tagged.h"
#include "io/folder.h"
#include "json/writer.h"
#include "model/model_file.h"
#include "onnx_tag/error.h"
#include "tagging/module_format.h"
#include "tagging/node_json.h"

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

// --json-nodes: `{"record": "node", "path": PATH, ...}` with the members of a
// sidecar's node, as engines that work on tables read them; some hundreds of
// lines at a time.
void WriteNodeLines(const std::string& path, const Model& model,
                    const Tagging& tagging, const NodeLines& lines) {
  constexpr std::size_t kPiece = 64 * 1024;
  std::string head = "{\"record\": \"node\", \"path\": ";
  AppendJsonString(head, path);
  head += ", ";
  const ModuleFormat format(tagging);
  NodeJson nodes(model, tagging, format);
  std::string piece;
  for (const NodeId node : model.Nodes()) {
    piece += head;
    nodes.AppendMembers(node, piece);
    piece += "}\n";
    if (piece.size() < kPiece) continue;
    lines(piece);
    piece.clear();
  }
  if (!piece.empty()) lines(piece);
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

}  // namespace onnx_tag
