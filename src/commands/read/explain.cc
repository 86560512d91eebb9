#include <fmt/core.h>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/fact_files.h"
#include "commands/read/node_rows.h"
#include "commands/read/node_selector.h"
#include "commands/read/sentence.h"
#include "json/writer.h"
#include "model/model_file.h"
#include "tagging/module_format.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

std::string ModuleText(const std::string& module) {
  return module.empty() ? "<root>" : Printable(module);
}

std::string ValuesText(const Model& model, std::span<const ValueId> values) {
  std::string text;
  for (const ValueId value : values) {
    if (!text.empty()) text += ", ";
    text += value == kNo<ValueId> ? "-" : Printable(model.ValueName(value), 60);
  }
  return text;
}

// The role as people write it: "attention/query, self, layer 0".
std::string RoleText(const Role& role) {
  std::string text(EnumToWord(kRoleTypeNames, role.type));
  if (!role.component.empty()) text += "/" + Printable(role.component, 60);
  if (role.attention_kind != AttentionKind::kNone) {
    text += ", ";
    text += EnumToWord(kAttentionKindNames, role.attention_kind);
  }
  if (role.layer >= 0) text += fmt::format(", layer {}", role.layer);
  return text;
}

std::string AnswerText(const Tagging& tagging, const Tag& tag) {
  if (!tag.tagged()) return "";
  const std::string_view name = tagging.modules.Class(tag.module);
  return fmt::format("  role   {}\n  class  {}\n  tag    {}\n",
                     RoleText(tagging.roles[tag.role]),
                     name.empty() ? "-" : Printable(name, 100),
                     Printable(ModuleFormat(tagging).HierarchyTag(tag), 1000));
}

std::string Text(const Model& model, const Tagging& tagging, NodeId node,
                 const Explanation& explanation) {
  std::string text = Sentence(model, tagging, node) + "\n";
  text += AnswerText(tagging, tagging.tags[node]) + "\n";
  text += fmt::format(
      "node {}  {}{}{}  {}\n", Printable(NodeAddress(model, node)),
      Printable(model.Domain(node), 60),
      model.Domain(node).empty() ? "" : "::", Printable(model.OpType(node), 60),
      model[node].name.empty() ? "(no name)" : Printable(model[node].name));
  text += fmt::format("  reads  {}\n", ValuesText(model, model.Inputs(node)));
  text +=
      fmt::format("  gives  {}\n\n", ValuesText(model, model.Outputs(node)));
  bool tagged = false;
  int place = 0;
  for (const ExplainedClaim& claim : explanation.claims) {
    tagged |= claim.wins;
    text += fmt::format("{} {}. {}: {}\n", claim.wins ? "*" : " ", ++place,
                        Printable(claim.rung), ModuleText(claim.module));
    text += fmt::format("     {} confidence, source {}\n",
                        EnumToWord(kConfidenceNames, claim.confidence),
                        EnumToWord(kSourceNames, claim.source));
    if (!claim.because.empty()) {
      text += fmt::format("     because {}\n", Printable(claim.because));
    }
  }
  if (explanation.claims.empty()) {
    text += "no evidence: nothing in the file shows which module produced it\n";
  }
  for (const std::string& note : explanation.notes) {
    text += fmt::format("  note: {}\n", Printable(note));
  }
  text += tagged ? "\n* marks the claim that becomes the tag\n"
                 : "\nthe node stays untagged\n";
  return text;
}

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
  const Explanation explanation = file.Map(
      [&](const Model& model) { return Explain(model, mapping, facts, node); });
  const Tagging tagging = file.Map(
      [&](const Model& model) { return MapNodes(model, mapping, facts); });
  file.file().CheckUnchanged();
  terminal.Out(options.json ? Json(file.model(), tagging, node, explanation)
                            : Text(file.model(), tagging, node, explanation));
  return ExitCode::kOk;
}

}  // namespace onnx_tag
