// Tested by tests/core/tagging/sidecar_test.cc.
#include "core/tagging/node_json.h"

#include "core/tagging/scope_path.h"
#include "core/tagging/words.h"

namespace onnx_tag {
namespace {

std::string SemanticJson(const Role& role) {
  JsonWriter json;
  json.BeginObject();
  json.Key("type").String(EnumToWord(kRoleTypeNames, role.type));
  json.Key("component").StringOrNull(role.component);
  json.Key("attention_kind")
      .StringOrNull(EnumToWord(kAttentionKindNames, role.attention_kind));
  json.Key("layer");
  if (role.layer < 0) {
    json.Null();
  } else {
    json.Number(role.layer);
  }
  json.Key("confidence").String(EnumToWord(kConfidenceNames, role.confidence));
  json.EndObject();
  return json.Take();
}

}  // namespace

NodeJson::NodeJson(const Model& model, const Tagging& tagging,
                   const ModuleFormat& format)
    : model_(model), tagging_(tagging), format_(format) {
  roles_.reserve(tagging.roles.size());
  for (const Role& role : tagging.roles) roles_.push_back(SemanticJson(role));
}

void NodeJson::AddMembers(NodeId node, JsonWriter& json) {
  if (model_[node].graph != graph_) {
    graph_ = model_[node].graph;
    graph_text_ =
        JsonWriter().Key("graph").String(model_.GraphPath(graph_)).Take();
  }
  json.Raw(graph_text_);
  json.Key("index").Number(model_[node].index);
  json.Key("name").String(model_[node].name);
  json.Key("op").String(model_.OpType(node));
  json.Key("domain").String(model_.Domain(node));
  const auto name_of = [&](ValueId value) { return model_.ValueName(value); };
  json.Key("inputs").Strings(model_.Inputs(node), name_of);
  json.Key("outputs").Strings(model_.Outputs(node), name_of);
  const Tag& tag = tagging_.tags[node];
  if (tag.tagged()) {
    AddTag(node, tag, json);
  } else {
    for (const std::string_view key :
         {"module", "class", "hierarchy_tag", "tag_module", "tag_module_class",
          "tag_class_confidence", "semantic", "confidence", "source",
          "evidence"}) {
      json.Key(key).Null();
    }
    json.Key("origins").BeginArray().EndArray();
  }
  json.Key("scope_path").StringOrNull(ScopePath(model_, node));
  AddLines(node, json);
}

void NodeJson::AddLines(NodeId node, JsonWriter& json) const {
  json.Key("source_line");
  if (const std::optional<SourceLine> line = tagging_.lines.Of(node)) {
    AddSourceLine(*line, json);
  } else {
    json.Null();
  }
  const std::vector<SourceLine> frames = tagging_.lines.FramesOf(node);
  if (frames.empty()) return;
  json.Key("frames").BeginArray();
  for (const SourceLine& frame : frames) AddSourceLine(frame, json);
  json.EndArray();
}

void NodeJson::AddTag(NodeId node, const Tag& tag, JsonWriter& json) {
  // The tag of an auxiliary operation differs from the tag of its module.
  const bool auxiliary = tag.source == Source::kAuxiliary;
  if (tag.module != module_ || auxiliary) {
    module_ = tag.module;
    const ModuleTree& tree = tagging_.modules;
    JsonWriter text;
    text.Key("module").String(tree.Path(module_));
    text.Key("class").StringOrNull(tree.Class(module_));
    text.Key("hierarchy_tag").String(format_.HierarchyTag(tag));
    const ModuleId tag_module = format_.TagModule(module_);
    text.Key("tag_module").String(tree.Path(tag_module));
    text.Key("tag_module_class").StringOrNull(ClassOf(tagging_, tag_module));
    text.Key("tag_class_confidence")
        .StringOrNull(format_.TagClassConfidence(module_));
    module_text_ = text.Take();
  }
  json.Raw(module_text_);
  if (auxiliary) module_ = kNo<ModuleId>;
  json.Key("semantic").Raw(roles_[Index(tag.role)]);
  json.Key("confidence").String(EnumToWord(kConfidenceNames, tag.confidence));
  json.Key("source").String(EnumToWord(kSourceNames, tag.source));
  json.Key("evidence").String(EnumToWord(kEvidenceNames, tag.evidence));
  AddOrigins(tagging_, node, json.Key("origins"));
}

void AddOrigins(const Tagging& tagging, NodeId node, JsonWriter& json) {
  json.Strings(tagging.OriginsOf(node), [&](const Origin& origin) {
    return tagging.modules.Path(origin.module);
  });
}

// Tested by tests/core/tagging/source_lines_test.cc.

void AddSourceLine(const SourceLine& line, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(line.file);
  json.Key("line").Number(line.line);
  json.Key("function").StringOrNull(line.function);
  json.Key("text").StringOrNull(line.text);
  json.EndObject();
}

std::optional<ReadSourceLine> TakeSourceLine(json::Reader& json) {
  if (json.Peek() != json::Kind::kObject) {
    json.Skip();
    return std::nullopt;
  }
  ReadSourceLine line;
  json.ForEachMember([&](std::string_view key) {
    if (key == "file") line.file = json.StringOrNull();
    if (key == "line") line.line = json.Count();
    if (key == "function") line.function = json.StringOrNull();
    if (key == "text") line.text = json.StringOrNull();
  });
  if (line.file.empty()) return std::nullopt;
  return line;
}

}  // namespace onnx_tag
