#include "core/query/fields.h"

#include <array>

#include "onnx_tag/tagging.h"

namespace onnx_tag::query {
namespace {

constexpr std::array<std::string_view, 2> kAttentionWords = {"self", "cross"};

// In the order of Field.
constexpr FieldInfo kFields[] = {
    {Field::kModule, "module", "the module of the node", '.'},
    {Field::kUnder, "under", "the module or a module above it", '.'},
    {Field::kOrigin, "origin", "another module of a fused node", '.'},
    {.field = Field::kClass,
     .name = "class",
     .help = "the module's class",
     .has_none = true},
    {.field = Field::kClassConfidence,
     .name = "class_confidence",
     .help = "how sure the class is",
     .ordered = true,
     .words = kConfidenceNames},
    {Field::kWithin, "within", "the class of the module, or of one around it"},
    {Field::kTag, "tag", "the hierarchy tag", '/'},
    {Field::kRole, "role", "the role path: the tag without the family name",
     '/'},
    {.field = Field::kType,
     .name = "type",
     .help = "the purpose of the node",
     .words = kRoleTypeNames},
    {.field = Field::kTypeConfidence,
     .name = "type_confidence",
     .help = "how sure the type is",
     .ordered = true,
     .words = kConfidenceNames},
    {.field = Field::kComponent,
     .name = "component",
     .help = "the part of that type: query, softmax, up",
     .has_none = true},
    {.field = Field::kAttention,
     .name = "attention",
     .help = "self or cross",
     .has_none = true,
     .words = kAttentionWords},
    {.field = Field::kLayer,
     .name = "layer",
     .help = "the layer's index",
     .ordered = true,
     .has_none = true},
    {Field::kOp, "op", "the operator"},
    {Field::kName, "name", "the node's name", '/'},
    {.field = Field::kConfidence,
     .name = "confidence",
     .help = "low < medium < high < certain",
     .ordered = true,
     .words = kConfidenceNames},
    {.field = Field::kSource,
     .name = "source",
     .help = "the kind of evidence for the tag",
     .words = kSourceNames},
    // No separator: the folders above a file depend on the machine.
    {.field = Field::kFile,
     .name = "file",
     .help = "the file of Python code that made the node",
     .has_none = true},
    {.field = Field::kLine,
     .name = "line",
     .help = "the line in that file; line=350..420 is a range",
     .ordered = true,
     .has_none = true},
    {Field::kUntagged, "untagged", "used alone: nodes without a module"},
};

}  // namespace

std::span<const FieldInfo> Fields() { return kFields; }

const FieldInfo* FindField(std::string_view name) {
  for (const FieldInfo& info : kFields) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const FieldInfo& InfoOf(Field field) {
  return kFields[static_cast<std::size_t>(field)];
}

}  // namespace onnx_tag::query
