#include "role_paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "core/tagging/module_format.h"
#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::bench {

std::map<std::string, std::string> TrueClasses(
    const std::vector<TruthRow>& rows) {
  std::map<std::string, std::string> classes;
  for (const TruthRow& row : rows) {
    std::vector<std::string_view> atoms;
    if (!row.module.empty()) atoms = Split(row.module, '.');
    if (row.classes.size() != atoms.size() + 1) continue;
    std::string path;
    classes[""] = row.classes[0];
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      if (i > 0) path += '.';
      path += atoms[i];
      classes[path] = row.classes[i + 1];
    }
  }
  return classes;
}

std::string_view CatalogueFamily(std::string_view root_class) {
  const catalogue::Table& table = catalogue::BuiltIn();
  const catalogue::TextId text = table.FindText(root_class);
  if (text == kNo<catalogue::TextId>) return {};
  for (const catalogue::ClassId id : table.Namesakes(text)) {
    if (table[id].mark != catalogue::Mark::kNone) {
      return table.Text(table.Family(id));
    }
  }
  return {};
}

RolePathScore ScoreRolePaths(
    const Tagging& tagging, const std::map<std::string, std::string>& classes) {
  Tagging expected;
  for (const auto& [path, name] : classes) {
    expected.modules.SetClass(expected.modules.Add(path), name);
    const std::string word(catalogue::BuiltIn().FamilyWord(name));
    if (!word.empty() &&
        std::find(expected.family_words.begin(), expected.family_words.end(),
                  word) == expected.family_words.end()) {
      expected.family_words.push_back(word);
    }
    if (path.empty()) expected.root.name = name;
  }
  expected.format = tagging.format;
  const ModuleFormat wanted(expected);
  const ModuleFormat given(tagging);
  RolePathScore score;
  for (const auto& [path, name] : classes) {
    const ModuleId id = tagging.modules.Find(path);
    if (id == kNo<ModuleId>) continue;
    ++score.modules;
    const std::string want = wanted.RolePath(expected.modules.Find(path));
    const std::string got = given.RolePath(id);
    if (want == got) {
      ++score.right;
    } else {
      ++score.wrong[fmt::format("is {}  got {}", want, got)];
    }
  }
  return score;
}

}  // namespace onnx_tag::bench
