// Netron shows, beside the metadata of a node or a tensor, that of an
// attachment: a JSON file opened while the model is.
#include <fmt/core.h>

#include "commands/export/graph_formats.h"
#include "json/writer.h"
#include "tagging/module_format.h"
#include "tagging/tag_format.h"
#include "tagging/words.h"
#include "weights/weight_map.h"

namespace onnx_tag {
namespace {

void AddEntry(JsonWriter& json, std::string_view target, std::string_view key,
              std::string_view value, std::string_view kind = "node") {
  if (value.empty()) return;
  json.BeginObject();
  json.Key("kind").String(kind);
  json.Key("target").String(target);
  json.Key("name").String(key);
  json.Key("value").String(value);
  json.EndObject();
}

// "attention/query"
std::string SemanticText(const Role& role) {
  const std::string_view type = EnumToWord(kRoleTypeNames, role.type);
  return role.component.empty() ? std::string(type)
                                : fmt::format("{}/{}", type, role.component);
}

// The parameter that each initializer holds. A sidecar does not know them.
void WriteTensors(const TaggedModel& model, JsonWriter& json,
                  const Write& write) {
  const Model* const file = model.model();
  if (file == nullptr) return;
  for (const weights::Weight& weight :
       weights::MapWeights(*file, model.tagging())) {
    if (weight.parameters.empty()) continue;
    const std::string_view name =
        file->ValueName(file->initializers()[weight.initializer].value);
    const std::string_view target = name.substr(0, name.find('\n'));
    if (target.empty()) continue;
    std::string parameters;
    for (const std::string& parameter : weight.parameters) {
      if (!parameters.empty()) parameters += ", ";
      parameters += parameter;
    }
    AddEntry(json, target, "pkg.onnx_tag.parameter", parameters, "tensor");
    AddEntry(json, target, "pkg.onnx_tag.change",
             EnumToWord(weights::kChangeNames, weight.change), "tensor");
    write(json.Take());
  }
}

}  // namespace

void WriteNetron(const TaggedModel& model, const Write& write) {
  const Tagging& tagging = model.tagging();
  const NodeList& nodes = model.nodes();
  const ModuleFormat format(tagging);
  JsonWriter json;
  json.BeginObject();
  json.Key("signature").String("netron:attachment");
  json.Key("metadata").BeginArray();
  for (const NodeId node : nodes.All()) {
    const Tag& tag = tagging.tags[node];
    // Netron finds a node by the first line of its name.
    const std::string_view name = nodes.Name(node);
    const std::string_view target = name.substr(0, name.find('\n'));
    if (!tag.tagged() || target.empty()) continue;
    const Role& role = tagging.roles[tag.role];
    const std::string path = tagging.modules.Path(tag.module);
    AddEntry(json, target, keys::kModule, path.empty() ? "<root>" : path);
    AddEntry(json, target, keys::kClass, tagging.modules.Class(tag.module));
    AddEntry(json, target, keys::kHierarchyTag,
             format.HierarchyTag(tag.module));
    AddEntry(json, target, keys::kTagModule,
             tagging.modules.Path(format.TagModule(tag.module)));
    AddEntry(json, target, keys::kSemantic, SemanticText(role));
    if (role.layer >= 0) {
      AddEntry(json, target, keys::kLayer, std::to_string(role.layer));
    }
    AddEntry(json, target, keys::kConfidence,
             EnumToWord(kConfidenceNames, tag.confidence));
    AddEntry(json, target, keys::kSource, EnumToWord(kSourceNames, tag.source));
    write(json.Take());
  }
  WriteTensors(model, json, write);
  json.EndArray().EndObject();
  write(json.Take() + "\n");
}

}  // namespace onnx_tag
