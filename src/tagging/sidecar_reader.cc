#include <charconv>
#include <unordered_map>

#include "base/text.h"
#include "onnx_tag/error.h"
#include "tagging/json_view.h"
#include "tagging/role_index.h"
#include "tagging/sidecar.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using Json = JsonObject;

std::string Text(const Json& object, const char* key) {
  const JsonView* const value = object.find(key);
  return value == nullptr || !value->is_string() ? "" : value->Text();
}

template <typename Number>
Number Integer(const Json& object, const char* key, Number otherwise) {
  const JsonView* const value = object.find(key);
  if (value == nullptr) return otherwise;
  Number number{};
  const std::string_view text = value->text();
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error != std::errc() || stop != end ? otherwise : number;
}

std::optional<std::uint64_t> Count(const Json& object, const char* key) {
  if (object.find(key) == nullptr) return std::nullopt;
  return Integer<std::uint64_t>(object, key, 0);
}

std::vector<std::string> Texts(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const JsonView* const value = object.find(key);
  if (value == nullptr || !value->is_array()) return texts;
  for (const JsonView text : value->Items()) {
    if (text.is_string()) texts.push_back(text.Text());
  }
  return texts;
}

const JsonView& Find(const Json& object, const char* key) {
  const JsonView* const value = object.find(key);
  if (value == nullptr) {
    Fail(ErrorKind::kInput, "not a sidecar of onnx-tag: it has no \"{}\"", key);
  }
  return *value;
}

Json Member(const Json& object, const char* key) {
  return Json(Find(object, key));
}

Role ReadRole(const Json& semantic) {
  Role role;
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

// Takes a document apart while it is read: rows of `modules` and `nodes` are
// used one by one and let go, since 10^6 of them held at once take 4 GB.
class Reader {
 public:
  Sidecar Read(std::string_view json) {
    JsonCursor cursor(json);
    Json document;
    if (cursor.AtObject()) {
      cursor.ForEachMember([&](std::string_view key) {
        if (key == "modules" && cursor.AtArray()) {
          ForEachRow(cursor, [&](const Json& row) { ReadModule(row); });
          document.Add(key, JsonView("[]"));
        } else if (key == "nodes" && cursor.AtArray()) {
          ForEachRow(cursor, [&](const Json& row) { ReadNode(row); });
          document.Add(key, JsonView("[]"));
        } else {
          document.Add(key, cursor.Value());
        }
      });
    } else {
      cursor.Value();
    }
    cursor.End();
    if (Text(document, "format") != "onnx-tag/1") {
      Fail(ErrorKind::kInput,
           "not a sidecar of onnx-tag: \"format\" is not \"onnx-tag/1\"");
    }
    ReadHead(document);
    return std::move(sidecar_);
  }

 private:
  template <typename Use>
  void ForEachRow(JsonCursor& cursor, Use&& use) {
    Json row;
    cursor.ForEachItem([&] {
      if (cursor.AtObject()) {
        row.Read(cursor);
        use(row);
      } else {
        cursor.Value();
      }
    });
  }

  // Both repeat from node to node, and are told by their text as it is.
  ModuleId ModuleOf(const JsonView& path);
  RoleId RoleOf(const JsonView* semantic);

  void ReadHead(const Json& document);
  void ReadModule(const Json& row);
  void ReadNode(const Json& row);

  Sidecar sidecar_;
  RoleIndex roles_{sidecar_.tagging};
  std::unordered_map<std::string_view, ModuleId> module_texts_;
  std::unordered_map<std::string_view, RoleId> role_texts_;
};

ModuleId Reader::ModuleOf(const JsonView& path) {
  const auto [at, added] = module_texts_.try_emplace(path.text());
  if (added) at->second = sidecar_.tagging.modules.Add(path.Text());
  return at->second;
}

RoleId Reader::RoleOf(const JsonView* semantic) {
  if (semantic == nullptr || !semantic->is_object()) return RoleId{0};
  const auto [at, added] = role_texts_.try_emplace(semantic->text());
  if (added) at->second = roles_.Add(ReadRole(Json(*semantic)));
  return at->second;
}

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
  Find(document, "modules");
  Find(document, "nodes");
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
  sidecar_.counts.resize(tagging.facts.size());
  sidecar_.counts[id] = {.nodes = Count(row, "nodes"),
                         .total_nodes = Count(row, "total_nodes")};
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
  const JsonView* const module = row.find("module");
  if (module != nullptr && module->is_string()) {
    tag.module = ModuleOf(*module);
    tag.role = RoleOf(row.find("semantic"));
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
    return Reader().Read(json);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (!what.starts_with("parse error")) throw;
    throw error.In("not a sidecar of onnx-tag");
  }
}

}  // namespace onnx_tag
