#include "query/fields.h"

#include <array>

#include "onnx_tag/tagging.h"

namespace onnx_tag::query {
namespace {

constexpr std::array<std::string_view, 2> kAttentionWords = {"self", "cross"};

// In the order of Field.
constexpr std::array<FieldInfo, 16> kFields = {{
    {"module",
     Field::kModule,
     '.',
     false,
     false,
     {},
     "the module that made the node"},
    {"under",
     Field::kUnder,
     '.',
     false,
     false,
     {},
     "the module, or one around it"},
    {"origin",
     Field::kOrigin,
     '.',
     false,
     false,
     {},
     "a further module of a fused node"},
    {"class", Field::kClass, 0, false, true, {}, "the module's class"},
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
     "the role path: the tag without the family's word"},
    {"type", Field::kType, 0, false, false, kRoleTypeNames,
     "what the node is for"},
    {"component",
     Field::kComponent,
     0,
     false,
     true,
     {},
     "its part in that: query, softmax, up"},
    {"attention", Field::kAttention, 0, false, true, kAttentionWords,
     "self or cross"},
    {"layer", Field::kLayer, 0, true, true, {}, "the layer's index"},
    {"op", Field::kOp, 0, false, false, {}, "the operator"},
    {"name", Field::kName, '/', false, false, {}, "the node's name"},
    {"confidence", Field::kConfidence, 0, true, false, kConfidenceNames,
     "low < medium < high < certain"},
    {"source", Field::kSource, 0, false, false, kSourceNames,
     "the rule that won"},
    {"untagged",
     Field::kUntagged,
     0,
     false,
     false,
     {},
     "stands alone: nodes without a module"},
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
