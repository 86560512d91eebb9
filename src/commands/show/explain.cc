#include <fmt/core.h>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/fact_files.h"
#include "commands/read/node_rows.h"
#include "commands/read/node_selector.h"
#include "commands/show/explanation_text.h"
#include "commands/show/sentence.h"
#include "json/writer.h"
#include "mapping/observed_mapping.h"
#include "model/model_file.h"
#include "tagging/module_format.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

std::string Json(const Model& model, const Tagging& tagging, NodeId node,
                 const Explanation& explanation) {
  JsonWriter json;
  json.BeginObject();
  json.Key("sentence").String(Sentence(model, tagging, node));
  json.Key("graph").String(model.GraphPath(model[node].graph));
  json.Key("index").Number(model[node].index);
  json.Key("name").String(model[node].name);
  json.Key("op").String(model.OpType(node));
  json.Key("domain").String(model.Domain(node));
  AddTagJson(json, tagging, ModuleFormat(tagging), tagging.tags[node]);
  json.Key("claims").BeginArray();
  for (const ExplainedClaim& claim : explanation.claims) {
    json.BeginObject();
    json.Key("rung").String(claim.rung);
    json.Key("module").String(claim.module);
    json.Key("confidence")
        .String(EnumToWord(kConfidenceNames, claim.confidence));
    json.Key("source").String(EnumToWord(kSourceNames, claim.source));
    json.Key("because").String(claim.because);
    json.Key("wins").Bool(claim.wins);
    json.EndObject();
  }
  json.EndArray();
  json.Key("notes").BeginArray();
  for (const std::string& note : explanation.notes) json.String(note);
  json.EndArray();
  json.EndObject();
  return json.text() + "\n";
}

}  // namespace

ExitCode RunExplain(const ExplainOptions& options, Terminal& terminal) {
  const MappingOptions& mapping = options.mapping;
  const MappingFacts facts = ReadFacts(mapping);
  const ModelFile file = ModelFile::Open(options.model);
  const NodeId node = SelectNode(file.model(), options.node);
  const auto [tagging, explanation] = file.Map([&](const Model& model) {
    return MapAndExplain(model, mapping, facts, node);
  });
  file.file().CheckUnchanged();
  terminal.Out(options.json
                   ? Json(file.model(), tagging, node, explanation)
                   : ExplanationText(file.model(), tagging, node, explanation));
  return ExitCode::kOk;
}

}  // namespace onnx_tag
