#include "mapping/classes/catalogue/attributes.h"

#include <algorithm>
#include <span>

#include "base/lists.h"
#include "core/tagging/module_format.h"

namespace onnx_tag::catalogue {
namespace {

bool Holds(const Table& table, std::span<const AlternativeRecord> alternatives,
           TextId part) {
  return AnyIn(alternatives, [&](const AlternativeRecord& alternative) {
    return alternative.target < kFirstTable
               ? table[alternative.target].name == part
               : Holds(table, table.TableEntries(alternative.target), part);
  });
}

struct Paths {
  Optional optional = Optional::kInDefault;  // the rarest step of these
  std::vector<std::string> list;
};

// Of paths that are not there in every instance, only the most usual ones.
// Paths of classes leave the names out that torch.nn has, too.
void Collect(const Table& table, std::span<const MemberRecord> members,
             TextId part, const std::string& around, Optional optional,
             Paths& paths) {
  constexpr std::size_t kLongest = 64;
  if (around.size() > kLongest) return;
  for (const MemberRecord& member : members) {
    const std::string path =
        around + (around.empty() ? "" : ".") +
        std::string(member.name == Table::kAnyIndex ? "*"
                                                    : table.Text(member.name));
    const Optional rarest = std::max(optional, member.optional);
    if (rarest <= paths.optional &&
        Holds(table, table.Alternatives(member), part)) {
      if (rarest < paths.optional) paths.list.clear();
      paths.optional = rarest;
      if (!IsAmong(path, paths.list)) {
        paths.list.push_back(path);
      }
    }
    Collect(table, table.Members(member), part, path, rarest, paths);
    for (const AlternativeRecord& inside : table.Alternatives(member)) {
      if (inside.target < kFirstTable &&
          TorchNnClasses().contains(table.Name(inside.target))) {
        Collect(table, table.Members(inside.target), part, path, rarest, paths);
      }
    }
  }
}

}  // namespace

std::vector<std::string> AttributesOf(const Table& table,
                                      std::string_view parent,
                                      std::string_view part) {
  Paths paths;
  const TextId name = table.FindText(part);
  const TextId around = table.FindText(parent);
  if (name == kNo<TextId> || around == kNo<TextId>) return {};
  for (const ClassId id : table.Namesakes(around)) {
    Collect(table, table.Members(id), name, "", Optional::kNever, paths);
  }
  return paths.list;
}

}  // namespace onnx_tag::catalogue
