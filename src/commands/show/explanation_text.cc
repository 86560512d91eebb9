#include "commands/show/explanation_text.h"

#include <fmt/core.h>

#include "base/text.h"
#include "commands/read/node_selector.h"
#include "commands/show/sentence.h"
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

}  // namespace

std::string ExplanationText(const Model& model, const Tagging& tagging,
                            NodeId node, const Explanation& explanation) {
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

}  // namespace onnx_tag
