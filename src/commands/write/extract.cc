#include <fmt/core.h>

#include "base/text.h"
#include "commands/new_model_commands.h"
#include "commands/output/destinations.h"
#include "commands/read/tag_source.h"
#include "commands/write/cut_part.h"
#include "commands/write/new_models.h"
#include "json/writer.h"

namespace onnx_tag {
namespace {

std::vector<NodeId> NodesUnder(const Tagging& tagging, ModuleId module) {
  std::vector<NodeId> nodes;
  for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
    const Tag& tag = tagging.tags[node];
    if (tag.tagged() && tagging.modules.IsAncestor(module, tag.module)) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

std::string PartText(const ExtractOptions& options, const CutPart& part,
                     const NewModel& written) {
  std::string text = fmt::format(
      "{}: {}, {}, {}\n",
      options.model == "-" ? "standard input" : Printable(options.model),
      options.module.empty() ? "<root>" : Printable(options.module, 200),
      Count(part.nodes, "node"), Count(part.writer->weights(), "weight"));
  text += ValueLines("input", part.writer->inputs());
  text += ValueLines("output", part.writer->outputs());
  return text + DeedLine(written, options.write.dry_run);
}

std::string PartJson(const ExtractOptions& options, const CutPart& part,
                     const NewModel& written) {
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(options.model);
  json.Key("module").String(options.module);
  AddPart(json, part, written);
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace

ExitCode RunExtract(const ExtractOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const ModelFile& file = ModelToWrite(model.file(), options.model);
  const ModuleId module = FindModule(model.tagging().modules, options.module);
  const std::vector<NodeId> nodes = NodesUnder(model.tagging(), module);
  if (nodes.empty()) {
    terminal.Complain(fmt::format("onnx-tag: {}: no node is of the module {}\n",
                                  Printable(options.model),
                                  Printable(options.module, 200)));
    return ExitCode::kFindings;
  }
  const sizes::Shapes shapes(file.model(), {});
  const std::optional<CutPart> part =
      CutPartOut(model, shapes, nodes, options.module, terminal);
  if (!part) return ExitCode::kFindings;
  WarnOfUntyped(options.model, part->writer->inputs(), terminal);
  WarnOfUntyped(options.model, part->writer->outputs(), terminal);

  std::vector<NewModel> models = {
      {ModelDestination(options.model, options.write, "extracted"),
       part->writer->new_size(),
       [&](wire::Rewrite::Sink& sink) { part->writer->Write(sink); }}};
  WriteNewModels(model, options.write, terminal, models);
  if (options.json) {
    terminal.Out(PartJson(options, *part, models.front()));
  } else if (!options.quiet) {
    PrintResult(PartText(options, *part, models.front()), options.write,
                terminal);
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
