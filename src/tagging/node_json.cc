// Tested by tests/tagging/sidecar_test.cc.
#include "tagging/node_json.h"

#include <fmt/core.h>

#include <algorithm>

#include "json/writer.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

std::string SemanticJson(const Role& role) {
  std::string out =
      fmt::format("\"semantic\": {{\"type\": \"{}\", \"component\": ",
                  EnumToWord(kRoleTypeNames, role.type));
  AppendJsonStringOrNull(out, role.component);
  out += ", \"attention_kind\": ";
  AppendJsonStringOrNull(out,
                         EnumToWord(kAttentionKindNames, role.attention_kind));
  out += role.layer < 0 ? std::string(", \"layer\": null}")
                        : fmt::format(", \"layer\": {}}}", role.layer);
  return out;
}

}  // namespace

NodeJson::NodeJson(const Model& model, const Tagging& tagging,
                   const ModuleFormat& format)
    : model_(model), tagging_(tagging), format_(format) {
  roles_.reserve(tagging.roles.size());
  for (const Role& role : tagging.roles) roles_.push_back(SemanticJson(role));
}

void NodeJson::AppendMembers(NodeId node, std::string& out) {
  if (model_[node].graph != graph_) {
    graph_ = model_[node].graph;
    graph_text_ = "\"graph\": ";
    AppendJsonString(graph_text_, model_.GraphPath(graph_));
  }
  out += graph_text_;
  out += ", \"index\": ";
  out += std::to_string(model_[node].index);
  out += ", \"name\": ";
  AppendJsonString(out, model_[node].name);
  out += ", \"op\": ";
  AppendJsonString(out, model_.OpType(node));
  out += ", \"domain\": ";
  AppendJsonString(out, model_.Domain(node));
  out += ", \"inputs\": [";
  AppendValues(model_.Inputs(node), out);
  out += "], \"outputs\": [";
  AppendValues(model_.Outputs(node), out);
  out += "], ";
  const Tag& tag = tagging_.tags[node];
  if (tag.tagged()) {
    AppendTag(node, tag, out);
  } else {
    out +=
        "\"module\": null, \"class\": null, \"hierarchy_tag\": null, "
        "\"tag_module\": null, \"semantic\": null, \"confidence\": null, "
        "\"source\": null, "
        "\"origins\": []";
  }
}

void NodeJson::AppendTag(NodeId node, const Tag& tag, std::string& out) {
  // The tag of an auxiliary operation differs from the tag of its module.
  const bool auxiliary = tag.source == Source::kAuxiliary;
  if (tag.module != module_ || auxiliary) {
    module_ = tag.module;
    module_text_ = "\"module\": ";
    AppendJsonString(module_text_, tagging_.modules.Path(module_));
    module_text_ += ", \"class\": ";
    AppendJsonStringOrNull(module_text_, tagging_.modules.Class(module_));
    module_text_ += ", \"hierarchy_tag\": ";
    AppendJsonString(module_text_, format_.HierarchyTag(tag));
    module_text_ += ", \"tag_module\": ";
    AppendJsonString(module_text_,
                     tagging_.modules.Path(format_.TagModule(module_)));
    module_text_ += ", ";
  }
  out += module_text_;
  if (auxiliary) module_ = kNo<ModuleId>;
  out += roles_[Index(tag.role)];
  out += ", \"confidence\": \"";
  out += EnumToWord(kConfidenceNames, tag.confidence);
  out += "\", \"source\": \"";
  out += EnumToWord(kSourceNames, tag.source);
  out += "\", \"origins\": [";
  const auto first = std::lower_bound(
      tagging_.origins.begin(), tagging_.origins.end(), node,
      [](const Origin& origin, NodeId id) { return origin.node < id; });
  for (auto at = first; at != tagging_.origins.end() && at->node == node;
       ++at) {
    if (at != first) out += ", ";
    AppendJsonString(out, tagging_.modules.Path(at->module));
  }
  out += ']';
}

void NodeJson::AppendValues(std::span<const ValueId> values,
                            std::string& out) const {
  bool first = true;
  for (const ValueId value : values) {
    if (!first) out += ", ";
    first = false;
    AppendJsonString(out, value == kNo<ValueId> ? std::string_view()
                                                : model_.ValueName(value));
  }
}

}  // namespace onnx_tag
