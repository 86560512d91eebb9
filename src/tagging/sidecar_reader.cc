#include <nlohmann/json.hpp>

#include "base/text.h"
#include "onnx_tag/error.h"
#include "tagging/json_text.h"
#include "tagging/role_index.h"
#include "tagging/sidecar.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return "";
  return RestoreBytes(at->get<std::string>());
}

template <typename Number>
Number Integer(const Json& object, const char* key, Number otherwise) {
  const auto at = object.find(key);
  return at == object.end() || !at->is_number_integer() ? otherwise
                                                        : at->get<Number>();
}

std::vector<std::string> Texts(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array()) return texts;
  for (const Json& text : *at) {
    if (text.is_string())
      texts.push_back(RestoreBytes(text.get<std::string>()));
  }
  return texts;
}

const Json& Member(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) {
    Fail(ErrorKind::kInput, "not a sidecar of onnx-tag: it has no \"{}\"", key);
  }
  return *at;
}

Role ReadRole(const Json& semantic) {
  Role role;
  if (!semantic.is_object()) return role;
  role.type = WordToEnum<RoleType>(kRoleTypeNames, Text(semantic, "type"))
                  .value_or(RoleType::kOther);
  role.component = Text(semantic, "component");
  role.attention_kind =
      WordToEnum<AttentionKind>(kAttentionKindNames,
                                Text(semantic, "attention_kind"))
          .value_or(AttentionKind::kNone);
  role.layer = Integer<std::int32_t>(semantic, "layer", -1);
  return role;
}

// Takes a document apart while it is parsed: rows of `modules` and `nodes` are
// used one by one and let go, since 10^6 of them held at once take 4 GB.
class Reader {
 public:
  Sidecar Read(std::string_view json) {
    const Json document = Json::parse(
        json, [this](int depth, Json::parse_event_t event, Json& parsed) {
          return Keep(depth, event, parsed);
        });
    if (!document.is_object() || Text(document, "format") != "onnx-tag/1") {
      Fail(ErrorKind::kInput,
           "not a sidecar of onnx-tag: \"format\" is not \"onnx-tag/1\"");
    }
    ReadHead(document);
    return std::move(sidecar_);
  }

 private:
  // Depth 0 is the document, 1 its members, 2 the rows of a list.
  bool Keep(int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      section_ = parsed.get<std::string>();
    }
    if (event != Json::parse_event_t::object_end || depth != 2) return true;
    if (section_ == "modules") {
      ReadModule(parsed);
      return false;
    }
    if (section_ == "nodes") {
      ReadNode(parsed);
      return false;
    }
    return true;
  }

  void ReadHead(const Json& document);
  void ReadModule(const Json& row);
  void ReadNode(const Json& row);

  Sidecar sidecar_;
  RoleIndex roles_{sidecar_.tagging};
  std::string section_;
};

void Reader::ReadHead(const Json& document) {
  const Json& model = Member(document, "model");
  sidecar_.model = {.file = Text(model, "file"),
                    .bytes = Integer<std::uint64_t>(model, "bytes", 0),
                    .fingerprint = Text(model, "fingerprint"),
                    .ir_version = Integer<std::int64_t>(model, "ir_version", 0),
                    .producer = Text(model, "producer"),
                    .dialect = Text(model, "dialect"),
                    .inputs = Texts(model, "inputs"),
                    .outputs = Texts(model, "outputs"),
                    .unplaced_parameters = Integer<std::uint64_t>(
                        model, "unplaced_parameters", 0)};
  Tagging& tagging = sidecar_.tagging;
  tagging.strategy = Text(document, "strategy");
  tagging.format.torch_nn = Text(document, "granularity") == "torch_nn";
  tagging.options = Text(document, "options");
  tagging.dialect = sidecar_.model.dialect;
  const Json& root = Member(document, "root");
  tagging.root = {.name = Text(root, "class"),
                  .confidence = WordToEnum<Confidence>(kConfidenceNames,
                                                       Text(root, "confidence"))
                                    .value_or(Confidence::kLow),
                  .alternatives = Texts(root, "alternatives")};
  tagging.notes = Texts(document, "notes");
  Member(document, "modules");
  Member(document, "nodes");
}

void Reader::ReadModule(const Json& row) {
  Tagging& tagging = sidecar_.tagging;
  const ModuleId id = tagging.modules.Add(Text(row, "path"));
  tagging.facts.resize(std::max(tagging.facts.size(), tagging.modules.size()));
  tagging.modules.SetClass(id, Text(row, "class"));
  ModuleFacts& facts = tagging.facts[id];
  facts.class_confidence =
      WordToEnum<Confidence>(kConfidenceNames, Text(row, "class_confidence"))
          .value_or(Confidence::kLow);
  facts.candidates = Texts(row, "candidates");
  facts.hierarchy_tag = Text(row, "hierarchy_tag");
  facts.role_path = Text(row, "role_path");
  facts.parameters = Integer<std::uint64_t>(row, "parameters", 0);
}

void Reader::ReadNode(const Json& row) {
  Tagging& tagging = sidecar_.tagging;
  sidecar_.nodes.push_back({.graph = Text(row, "graph"),
                            .index = Integer<std::uint32_t>(row, "index", 0),
                            .name = Text(row, "name"),
                            .op = Text(row, "op"),
                            .domain = Text(row, "domain"),
                            .inputs = Texts(row, "inputs"),
                            .outputs = Texts(row, "outputs")});
  Tag tag;
  const auto module = row.find("module");
  if (module != row.end() && module->is_string()) {
    tag.module = tagging.modules.Add(Text(row, "module"));
    const auto semantic = row.find("semantic");
    tag.role = roles_.Add(semantic == row.end() ? Role() : ReadRole(*semantic));
    tag.confidence =
        WordToEnum<Confidence>(kConfidenceNames, Text(row, "confidence"))
            .value_or(Confidence::kLow);
    tag.source = WordToEnum<Source>(kSourceNames, Text(row, "source"))
                     .value_or(Source::kScope);
  }
  const NodeId id = tagging.tags.Add(tag);
  for (const std::string& origin : Texts(row, "origins")) {
    tagging.origins.push_back({id, tagging.modules.Add(origin)});
  }
}

}  // namespace

Sidecar ReadSidecar(std::string_view json) {
  try {
    std::string storage;
    return Reader().Read(HideLoneSurrogates(json, storage));
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = error.what();
    if (what.starts_with('[')) what.remove_prefix(what.find(']') + 2);
    Fail(ErrorKind::kInput, "not a sidecar of onnx-tag: {}", Printable(what));
  }
}

}  // namespace onnx_tag
