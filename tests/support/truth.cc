#include "support/truth.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/glob.h"
#include "base/text.h"
#include "clues/recording/module_map.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A recording has the modules, too.
fs::path HierarchyIn(const fs::path& folder) {
  for (const char* const name : {"hierarchy.json", "recording.json"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return {};
}

TruthFile FileOf(const fs::path& folder, std::string_view form,
                 LostNames::What lost, std::string variant) {
  return {folder.filename().string(),
          std::move(variant),
          lost,
          folder / fmt::format("{}.onnx", form),
          folder / fmt::format("{}.truth.tsv", form),
          HierarchyIn(folder)};
}

// Of the root and each module down to `module`; empty if one is not known.
std::vector<std::string> ClassesOf(const std::string& module,
                                   const ModuleTree& tree) {
  std::vector<std::string> classes;
  ModuleId id = tree.Find(module);
  for (; id != kNo<ModuleId>; id = tree.Parent(id)) {
    if (tree.Class(id).empty()) return {};
    classes.emplace_back(tree.Class(id));
  }
  std::reverse(classes.begin(), classes.end());
  return classes;
}

}  // namespace

std::string TruthFile::Bytes() const {
  return WithLostNames(ReadAll(onnx), lost);
}

std::string_view GroupOf(std::string_view model) {
  for (const std::string_view group : {"own", "glued"}) {
    if (model.starts_with(group) && model.substr(group.size()).starts_with("_"))
      return group;
  }
  return "known";
}

std::vector<TruthFile> FindTruth(const fs::path& folder,
                                 const std::string& model,
                                 const std::string& variant) {
  std::vector<TruthFile> found;
  const auto matches = [](const std::string& pattern, const std::string& name) {
    return MatchesPattern(pattern, name, "");
  };
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !matches(model, name)) continue;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      const std::string form = file.path().stem().string();
      if (file.path().extension() == ".onnx" &&
          fs::exists(entry.path() / (form + ".truth.tsv")) &&
          matches(variant, form)) {
        found.push_back(
            FileOf(entry.path(), form, LostNames::What::kNothing, form));
      }
    }
  }
  const std::string forms = ReadAll(folder / "forms.txt");
  for (const std::string_view line : Split(forms, '\n')) {
    const auto words = Split(line, ' ');
    if (words.empty() || words[0].empty() || words[0] == "#") continue;
    const std::string name(words[0]);
    if (!matches(model, name)) continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string form(words[i]);
      if (!matches(variant, form)) continue;
      const LostNames lost = LostNames::Of(form);
      found.push_back(FileOf(folder / name, lost.form, lost.what, form));
    }
  }
  std::sort(
      found.begin(), found.end(), [](const TruthFile& a, const TruthFile& b) {
        return std::tie(a.model, a.variant) < std::tie(b.model, b.variant);
      });
  return found;
}

TruthFile OneTruth(const std::string& name) {
  const fs::path path = fs::path(ONNX_TAG_TRUTH) / name;
  const std::string form = path.filename().string();
  if (fs::exists(path.parent_path() / (form + ".onnx"))) {
    return FileOf(path.parent_path(), form, LostNames::What::kNothing, form);
  }
  const LostNames lost = LostNames::Of(form);
  return FileOf(path.parent_path(), lost.form, lost.what, form);
}

std::vector<TruthRow> ReadTruth(const TruthFile& file, const Model& model) {
  std::unordered_map<std::string, NodeId> nodes;
  for (const NodeId node : model.Nodes()) {
    nodes[fmt::format("{}\t{}", model.GraphPath(model[node].graph),
                      model[node].index)] = node;
  }
  const std::string table = ReadAll(file.truth);
  const auto lines = Split(table, '\n');
  // Recordings of the book have more columns: the classes and what the maker
  // knows.
  std::map<std::string_view, std::size_t> column;
  for (const std::string_view name : Split(lines[0], '\t')) {
    column.emplace(name, column.size());
  }
  const bool has_classes = column.contains("classes");
  ModuleMap map;
  if (!has_classes && !file.hierarchy.empty()) {
    map = ReadModuleMap(ReadAll(file.hierarchy));
  }
  std::vector<TruthRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cells = Split(lines[i], '\t');
    if (cells.size() != column.size()) continue;
    const auto at = nodes.find(fmt::format("{}\t{}", cells[0], cells[1]));
    if (at == nodes.end()) continue;
    TruthRow row{at->second,
                 std::string(model.OpType(at->second)),
                 std::string(cells[column["module"]]),
                 {},
                 {}};
    if (!has_classes) {
      row.classes = ClassesOf(row.module, map.tree);
    } else if (!cells[column["classes"]].empty()) {
      for (const std::string_view name : Split(cells[column["classes"]], '/')) {
        row.classes.emplace_back(name);
      }
    }
    if (!cells[column["accept"]].empty()) {
      for (const std::string_view accept :
           Split(cells[column["accept"]], '|')) {
        row.accept.emplace_back(accept == "<root>" ? "" : accept);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

bool IsExact(std::string_view module, const TruthRow& row) {
  return module == row.module || std::find(row.accept.begin(), row.accept.end(),
                                           module) != row.accept.end();
}

}  // namespace onnx_tag::test
