// Tested by tests/app/commands/skip_current_test.cc.
#include "app/commands/write/tag_file.h"

#include <fmt/core.h>

#include <optional>

#include "app/commands/read/coverage.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "core/tagging/module_format.h"
#include "core/tagging/node_json.h"
#include "core/tagging/sidecar.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
#include "file/io/folder.h"
#include "file/io/mapped_file.h"
#include "file/io/paths.h"
#include "file/json/writer.h"
#include "generated/version.h"
#include "mapping/ladder/ladder.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// -------------------------------------------------------------- skipping
// All that decides what is written, but for strategy and granularity, which
// the sidecar names. A new option that changes an answer belongs here.
std::string Choices(const TagOptions& options,
                    const MappingFacts::Digests& facts) {
  std::string choices;
  for (const std::string& name : options.mapping.format.exceptions) {
    choices += fmt::format("{}:{},", name.size(), name);
  }
  choices += fmt::format(
      ";{};{}{}{}{}{}", static_cast<int>(options.mapping.min_confidence),
      options.keys.tags, options.keys.name_space, options.keys.layer_ann,
      options.keys.class_hierarchy, options.keys.source_line);
  choices += options.mapping.recipes ? ";recipes" : ";";
  choices += options.mapping.catalogue ? "" : ";no-catalogue";
  choices += options.mapping.placement ? ";placement" : "";
  choices += options.mapping.structure ? ";structure" : ";";
  if (options.mapping.frames) choices += ";frames";
  if (options.rename_nodes) choices += ";rename";
  // Files of facts count by what is in them: their names say nothing, and
  // their times would make the same input give other bytes.
  return choices + fmt::format(";{};{};{};{};{}", facts.hierarchy, facts.rules,
                               facts.trace, facts.fx, facts.recording);
}

// Stands in the sidecar for the options that shape the answer and have no
// field of their own; "" if they are the default.
std::string OptionsDigest(const TagOptions& options,
                          const MappingFacts::Digests& facts) {
  const std::string choices = Choices(options, facts);
  if (choices == Choices(TagOptions(), {})) return "";
  return DigestOf(choices);
}

// Where --skip-current finds nothing to do, the sidecar has the counts: every
// output is newer than the input, and the sidecar was written for a file of
// that name and size, with these options, by this version. The fingerprint has
// no say: a model that was trained again has the same graph.
bool IsCurrent(const std::string& input, const Destinations& destinations,
               const TagOptions& options, const std::string& digest,
               TagReport& report) {
  const std::optional<FileStamp> read = StampOf(input);
  const auto is_newer = [&](const std::string& output) {
    const std::optional<FileStamp> written = StampOf(output);
    return read && written && written->modified > read->modified;
  };
  if (!is_newer(destinations.sidecar)) return false;
  if (!options.sidecar_only && !options.write.in_place &&
      !is_newer(destinations.model)) {
    return false;
  }
  try {
    const MappedFile file = MappedFile::Open(destinations.sidecar);
    const std::optional<SidecarGlance> glance = GlanceAtSidecar(file.bytes());
    const MappingOptions& mapping = options.mapping;
    // Some strategies tag every class, whatever the user said of granularity.
    const bool torch_nn =
        mapping.format.torch_nn || FindStrategy(mapping.strategy).torch_nn;
    if (!glance || glance->model.bytes != read->bytes ||
        glance->model.file != FileName(input) ||
        glance->version != ToolVersion() ||
        (!glance->placement.empty() &&
         glance->placement != kPlacementVersion) ||
        glance->strategy != mapping.strategy || glance->torch_nn != torch_nn ||
        glance->options != digest) {
      return false;
    }
    // What an earlier run found is found again.
    report.findings =
        options.require_modules.empty()
            ? UnmetCounts(glance->coverage, options)
            : UnmetGates(ReadSidecar(file.bytes()).tagging, options);
    report.coverage = glance->coverage;
    report.dialect = glance->model.dialect;
    report.root_class = glance->root_class;
  } catch (const Error&) {
    return false;  // to be written anew
  }
  report.current = true;
  return true;
}

// ---------------------------------------------------------------- writing
// --json-nodes: `{"record": "node", "path": PATH, ...}` with the members of a
// sidecar's node, as engines that work on tables read them; some hundreds of
// lines at a time.
void WriteNodeLines(const std::string& path, const Model& model,
                    const Tagging& tagging, const NodeLines& lines) {
  constexpr std::size_t kPiece = 64 * 1024;
  const ModuleFormat format(tagging);
  NodeJson nodes(model, tagging, format);
  std::string piece;
  for (const NodeId node : model.Nodes()) {
    JsonWriter json;
    json.BeginObject();
    json.Key("record").String("node").Key("path").String(path);
    nodes.AddMembers(node, json);
    json.EndObject();
    piece += json.Take() + "\n";
    if (piece.size() < kPiece) continue;
    lines(piece);
    piece.clear();
  }
  if (!piece.empty()) lines(piece);
}

Produce SidecarOf(const ModelFile& file, const Tagging& tagging) {
  const SidecarModel about =
      AboutModel(FileName(file.path()), file.model(), tagging);
  return [&file, &tagging, about](wire::Rewrite::Sink& sink) {
    WriteSidecar(file.model(), tagging, about,
                 [&](Bytes bytes) { sink.Write(bytes); });
  };
}

// --names: a line for each node with another name.
Produce NamesOf(const Model& model, const std::vector<std::string>& old_names) {
  return [&](wire::Rewrite::Sink& sink) {
    for (const NodeId node : model.Nodes()) {
      const std::string& old_name = old_names[Index(node)];
      if (old_name == model[node].name) continue;
      sink.Write(JsonText(Datum::Object(
                     {{"old", old_name}, {"new", model[node].name}})) +
                 "\n");
    }
  };
}

}  // namespace

std::string_view ToolVersion() { return kVersion; }

void WriteTagged(ModelFile& file, const Tagging& tagging, Inputs inputs,
                 const Destinations& destinations, const TagOptions& options,
                 const Documents& documents, Terminal& terminal,
                 TagReport& report) {
  report.file = file.path();
  report.dry_run = options.write.dry_run;
  report.output = destinations.model;
  report.sidecar = destinations.sidecar;
  report.coverage = CountTags(tagging);
  report.dialect = tagging.dialect;
  report.root_class = tagging.root.name;
  report.findings = UnmetGates(tagging, options);
  AddModelInputs(file, inputs);
  std::vector<std::string> old_names;
  if (options.rename_nodes) {
    for (const NodeId node : file.model().Nodes()) {
      old_names.emplace_back(ExporterName(file.model(), node));
    }
    report.renamed = RenameNodes(tagging, file.model());
  }
  // Nothing is written before Finish().
  PendingOutputs outputs(file.file(), inputs, options.write, terminal);
  std::optional<TagWriter> writer;
  if (!report.output.empty()) {
    writer.emplace(file.model(), tagging, options.keys, options.rename_nodes);
    if (writer->new_size() > kMaxModelBytes) {
      Fail(ErrorKind::kOutput,
           "{}: with tags the file would have {} bytes; the limit of protobuf "
           "is {}\n  write the tags to a sidecar only: --sidecar-only",
           file.path(), writer->new_size(), kMaxModelBytes);
    }
    outputs.AddTaggedModel(
        report.output, writer->new_size(),
        [&](wire::Rewrite::Sink& sink) { writer->Write(sink); });
    if (!options.write.in_place) {
      CarryExternalData(file, report.output, options.write.data, outputs);
    }
  }
  if (!report.sidecar.empty()) {
    outputs.AddSidecar(report.sidecar, SidecarOf(file, tagging));
  }
  if (!options.names.empty()) {
    outputs.AddDocument(options.names, R"({"old":)",
                        NamesOf(file.model(), old_names));
  }
  for (const PendingDocument& document : documents) {
    outputs.AddDocument(
        document.path, document.head,
        [&](wire::Rewrite::Sink& sink) { sink.Write(document.text); });
  }
  outputs.Finish();
  report.output_fate = outputs.FateOf(report.output);
  report.sidecar_fate = outputs.FateOf(report.sidecar);
  report.streams = outputs.streams() && !options.write.dry_run;
}

void TagFile(const std::string& input, const Destinations& destinations,
             const TagOptions& options, const MappingFacts& facts,
             const NodeLines& nodes, Terminal& terminal, TagReport& report) {
  report.file = input;
  report.dry_run = options.write.dry_run;
  const std::string digest = OptionsDigest(options, facts.digests);
  if (options.skip_current &&
      IsCurrent(input, destinations, options, digest, report)) {
    return;
  }
  if (input != "-" && IsFolder(input)) {
    Fail(ErrorKind::kInput,
         "{}: is a folder\n  tag the models in it with --recursive", input);
  }
  ModelFile file = ModelFile::Open(input);
  Tagging tagging = file.Map([&](const Model& model) {
    return MapNodes(model, options.mapping, facts);
  });
  tagging.options = digest;
  report.warnings = ReadingWarnings(file.model());
  for (std::string& warning : ExternalDataWarnings(file)) {
    report.warnings.push_back(std::move(warning));
  }
  for (const std::string& note : tagging.notes) {
    report.warnings.push_back(Message("{}", Short{note, kLongestNote}));
  }
  Inputs inputs;
  AddFactFiles(options.mapping, inputs);
  inputs.Add(options.inputs.files_from, "--files-from");
  WriteTagged(file, tagging, std::move(inputs), destinations, options, {},
              terminal, report);
  if (nodes) {
    WriteNodeLines(input, file.model(), tagging, nodes);
    // After --in-place the name is the new file's, and ours is as it was.
    if (!options.write.in_place) file.file().CheckUnchanged();
  }
}

void AddSummary(const TagReport& report, Result& result) {
  if (report.current) {
    result.Line("{}: up to date", report.file);
    return;
  }
  result.Line("{}: {}", ShownInput(report.file), CoverageText(report.coverage));
  const std::string_view deed = Deed(report.output_fate, report.dry_run);
  const std::string_view sidecar_deed =
      Deed(report.sidecar_fate, report.dry_run);
  std::string text;
  if (!report.output.empty()) {
    text = Message("{} {}", deed, ShownOutput(report.output));
  }
  if (!report.sidecar.empty()) {
    const bool same = !text.empty() && deed == sidecar_deed;
    text += Message("{}{} {}", same || text.empty() ? "" : "; ",
                    same ? " and" : sidecar_deed, ShownOutput(report.sidecar));
  }
  if (!text.empty()) result.Line("  {}", Ours{text});
  if (report.renamed > 0) {
    result.Line("  renamed {}", Count(report.renamed, "node"));
  }
}

Datum::Members SummaryMembers(const TagReport& report) {
  Datum::Members members = {{"output", Datum::OrNull(report.output)},
                            {"sidecar", Datum::OrNull(report.sidecar)}};
  if (report.renamed > 0) members.emplace_back("renamed", report.renamed);
  for (auto& member : CoverageMembers(report.coverage)) {
    members.push_back(std::move(member));
  }
  members.emplace_back("dialect", Datum::OrNull(report.dialect));
  members.emplace_back("root_class", Datum::OrNull(report.root_class));
  return members;
}

}  // namespace onnx_tag
