#include "core/query/fields.h"

#include <array>

#include "onnx_tag/tagging.h"

namespace onnx_tag::query {
namespace {

constexpr std::array<std::string_view, 2> kAttentionWords = {"self", "cross"};

// In the order of Field.
constexpr std::array<FieldInfo, 20> kFields = {{
    {"module", Field::kModule, '.', false, false, {}, "the module of the node"},
    {"under",
     Field::kUnder,
     '.',
     false,
     false,
     {},
     "the module or a module above it"},
    {"origin",
     Field::kOrigin,
     '.',
     false,
     false,
     {},
     "another module of a fused node"},
    {"class", Field::kClass, 0, false, true, {}, "the module's class"},
    {"class_confidence", Field::kClassConfidence, 0, true, false,
     kConfidenceNames, "how sure the class is"},
    {"within",
     Field::kWithin,
     0,
     false,
     false,
     {},
     "the class of the module, or of one around it"},
    {"tag", Field::kTag, '/', false, false, {}, "the hierarchy tag"},
    {"role",
     Field::kRole,
     '/',
     false,
     false,
     {},
     "the role path: the tag without the family name"},
    {"type", Field::kType, 0, false, false, kRoleTypeNames,
     "the purpose of the node"},
    {"type_confidence", Field::kTypeConfidence, 0, true, false,
     kConfidenceNames, "how sure the type is"},
    {"component",
     Field::kComponent,
     0,
     false,
     true,
     {},
     "the part of that type: query, softmax, up"},
    {"attention", Field::kAttention, 0, false, true, kAttentionWords,
     "self or cross"},
    {"layer", Field::kLayer, 0, true, true, {}, "the layer's index"},
    {"op", Field::kOp, 0, false, false, {}, "the operator"},
    {"name", Field::kName, '/', false, false, {}, "the node's name"},
    {"confidence", Field::kConfidence, 0, true, false, kConfidenceNames,
     "low < medium < high < certain"},
    {"source", Field::kSource, 0, false, false, kSourceNames,
     "the kind of evidence for the tag"},
    // No separator: the folders above a file depend on the machine.
    {"file",
     Field::kFile,
     0,
     false,
     true,
     {},
     "the file of Python code that made the node"},
    {"line",
     Field::kLine,
     0,
     true,
     true,
     {},
     "the line in that file; line=350..420 is a range"},
    {"untagged",
     Field::kUntagged,
     0,
     false,
     false,
     {},
     "used alone: nodes without a module"},
}};

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
