#include "core/query/fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/word_list.h"
#include "generated/query_fields.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::query {

std::span<const FieldInfo> Fields() {
  static constexpr std::array<std::string_view, 2> kAttentionWords = {"self",
                                                                      "cross"};
  static const std::vector<FieldInfo> fields = [] {
    const std::map<std::string_view, std::span<const std::string_view>> lists =
        {{"-", {}},
         {"attention", kAttentionWords},
         {"confidence", kConfidenceNames},
         {"source", kSourceNames},
         {"type", kRoleTypeNames}};
    std::vector<FieldInfo> all;
    for (const auto& row : RowsOf(kQueryFields, "field")) {
      const std::vector<std::string_view> flags = Split(row[2], ',');
      const auto has = [&](std::string_view flag) {
        return std::find(flags.begin(), flags.end(), flag) != flags.end();
      };
      all.push_back({.field = static_cast<Field>(all.size()),
                     .name = row[0],
                     .help = Join(std::span(row).subspan(4), " "),
                     .separator = row[1] == "-" ? '\0' : row[1][0],
                     .ordered = has("ordered"),
                     .has_none = has("none"),
                     .words = lists.at(row[3])});
    }
    return all;
  }();
  return fields;
}

const FieldInfo* FindField(std::string_view name) {
  const auto fields = Fields();
  const auto at =
      std::find_if(fields.begin(), fields.end(),
                   [&](const FieldInfo& info) { return info.name == name; });
  return at == fields.end() ? nullptr : &*at;
}

const FieldInfo& InfoOf(Field field) {
  return Fields()[static_cast<std::size_t>(field)];
}

}  // namespace onnx_tag::query
