#include "commands/write/rename_weights.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "commands/output/destinations.h"
#include "commands/write/new_models.h"
#include "edit/renamer.h"
#include "json/writer.h"
#include "onnx_tag/error.h"
#include "tagging/tag_format.h"

namespace onnx_tag {
namespace {

using weights::Change;
using weights::Weight;

// What a quantizer appends, as ONNX Runtime does.
std::string_view Suffix(Change change) {
  switch (change) {
    case Change::kQuantized:
      return "_quantized";
    case Change::kScale:
      return "_scale";
    case Change::kZeroPoint:
      return "_zero_point";
    default:
      return "";
  }
}

// "a.query.weight+a.key.weight": every parameter it holds.
std::string NewName(const Weight& weight) {
  std::string name;
  const std::size_t count =
      weight.change == Change::kTied ? 1 : weight.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) name += '+';
    name += weight.parameters[i];
  }
  return name + std::string(Suffix(weight.change));
}

// A surviving name is the exporter's own word; with what a quantizer added it
// is as good.
std::vector<edit::Rename> Wanted(const Model& model,
                                 const std::vector<Weight>& list) {
  std::vector<edit::Rename> renames;
  for (const Weight& weight : list) {
    if (weight.parameters.empty() || weight.confidence < Confidence::kMedium) {
      continue;
    }
    const std::string_view old_name =
        model.ValueName(model.initializers()[weight.initializer].value);
    const bool holds = std::any_of(
        weight.parameters.begin(), weight.parameters.end(),
        [&](const std::string& name) { return old_name.starts_with(name); });
    if (!holds) renames.push_back({weight.initializer, NewName(weight)});
  }
  return renames;
}

}  // namespace

ExitCode RenameWeights(const WeightsOptions& options, const TaggedModel& model,
                       const std::vector<Weight>& list, Terminal& terminal) {
  const ModelFile& file = ModelToWrite(model.file(), options.model);
  for (const MetadataEntry& entry : file.model().metadata()) {
    if (entry.key != keys::kRenamed && entry.key != keys::kLayout) continue;
    Fail(ErrorKind::kInput,
         "{}: {}\n  make it as it was first: onnx-tag strip {}",
         Printable(options.model),
         entry.key == keys::kRenamed
             ? "its initializers were renamed before"
             : "was tagged, and lengths in it are padded",
         Printable(options.model));
  }
  const edit::Renamer renamer(file.model(), Wanted(file.model(), list));
  for (const edit::Renamer::Refused& refused : renamer.refused()) {
    terminal.Err(fmt::format(
        "onnx-tag: {} keeps its name: {}\n",
        Printable(file.model().ValueName(
                      file.model().initializers()[refused.initializer].value),
                  200),
        refused.why));
  }
  std::vector<NewModel> models = {
      {ModelDestination(options.model, options.write, "renamed"),
       renamer.new_size(),
       [&](wire::Rewrite::Sink& sink) { renamer.Write(sink); }}};
  WriteNewModels(model, options.write, terminal, models);
  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("file").String(options.model);
    json.Key("output").String(models.front().path);
    json.Key("renamed").BeginArray();
    for (const Initializer& tensor : file.model().initializers()) {
      const std::string name(file.model().ValueName(tensor.value));
      const auto at = renamer.names().find(name);
      if (at == renamer.names().end()) continue;
      json.BeginObject();
      json.Key("from").String(name);
      json.Key("to").String(at->second);
      json.EndObject();
    }
    json.EndArray().EndObject();
    terminal.Out(json.Take() + "\n");
  } else if (!options.quiet) {
    PrintResult(
        fmt::format("{}: {} of {} renamed\n{}", Printable(options.model),
                    renamer.names().size(), Count(list.size(), "initializer"),
                    DeedLine(models.front(), options.write.dry_run)),
        options.write, terminal);
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
