#include "truth.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "base/text.h"

namespace onnx_tag::bench {
namespace {

namespace fs = std::filesystem;

bool IsIndex(std::string_view atom) {
  return !atom.empty() &&
         atom.find_first_not_of("0123456789") == std::string_view::npos;
}

// The first difference between the paths is an index.
bool OtherLayer(std::string_view module, std::string_view truth) {
  const auto a = Split(module, '.');
  const auto b = Split(truth, '.');
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return IsIndex(a[i]) && IsIndex(b[i]);
  }
  return false;
}

// A recording has the modules, too.
fs::path HierarchyIn(const fs::path& folder) {
  for (const char* const name : {"hierarchy.json", "recording.json"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return {};
}

}  // namespace

std::vector<TruthFile> FindTruth(const fs::path& folder,
                                 const std::string& model,
                                 const std::string& variant) {
  std::vector<TruthFile> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || fnmatch(model.c_str(), name.c_str(), 0) != 0) {
      continue;
    }
    for (const auto& file : fs::directory_iterator(entry.path())) {
      const std::string stem = file.path().stem().string();
      const fs::path truth = entry.path() / (stem + ".truth.tsv");
      if (file.path().extension() == ".onnx" && fs::exists(truth) &&
          fnmatch(variant.c_str(), stem.c_str(), 0) == 0) {
        found.push_back(
            {name, stem, file.path(), truth, HierarchyIn(entry.path())});
      }
    }
  }
  std::sort(
      found.begin(), found.end(), [](const TruthFile& a, const TruthFile& b) {
        return std::tie(a.model, a.variant) < std::tie(b.model, b.variant);
      });
  return found;
}

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<TruthRow> ReadTruth(const std::string& table, const Model& model) {
  std::unordered_map<std::string, NodeId> nodes;
  for (const NodeId node : model.Nodes()) {
    nodes[fmt::format("{}\t{}", model.GraphPath(model[node].graph),
                      model[node].index)] = node;
  }
  std::vector<TruthRow> rows;
  // graph, index, op_type, module, classes, accept, layer, kind
  constexpr std::size_t kColumns = 6;
  for (const std::string_view line : Split(table, '\n')) {
    const auto columns = Split(line, '\t');
    if (columns.size() < kColumns || columns[0] == "graph") continue;
    const auto at = nodes.find(fmt::format("{}\t{}", columns[0], columns[1]));
    if (at == nodes.end()) continue;
    TruthRow row{
        at->second, std::string(columns[2]), std::string(columns[3]), {}, {}};
    if (!columns[4].empty()) {
      for (const std::string_view name : Split(columns[4], '/')) {
        row.classes.emplace_back(name);
      }
    }
    if (!columns[5].empty()) {
      for (const std::string_view accept : Split(columns[5], '|')) {
        row.accept.emplace_back(accept == "<root>" ? "" : accept);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Verdict Judge(const std::string& module, const TruthRow& row) {
  if (module == row.module || std::find(row.accept.begin(), row.accept.end(),
                                        module) != row.accept.end()) {
    return Verdict::kExact;
  }
  if (module.empty() || row.module.starts_with(module + ".")) {
    return Verdict::kAbove;
  }
  return OtherLayer(module, row.module) ? Verdict::kWrongLayer
                                        : Verdict::kWrong;
}

bool ClassesRight(const Tagging& tagging, ModuleId module,
                  const TruthRow& row) {
  const ModuleTree& tree = tagging.modules;
  if (row.classes.size() != tree.Depth(module) + 1) return false;
  for (std::size_t i = row.classes.size(); i-- > 0;) {
    const std::string& name = row.classes[i];
    if (name != "ModuleList" && name != "ModuleDict" &&
        tree.Class(module) != name) {
      return false;
    }
    module = tree.Parent(module);
  }
  return true;
}

void Score::Add(Verdict verdict, Confidence confidence) {
  const auto level = static_cast<std::size_t>(confidence);
  ++level_rows[level];
  level_exact[level] += verdict == Verdict::kExact;
  exact += verdict == Verdict::kExact;
  above += verdict == Verdict::kAbove;
  wrong += verdict == Verdict::kWrong || verdict == Verdict::kWrongLayer;
  layer += verdict == Verdict::kWrongLayer;
}

void Score::Add(const Score& other) {
  files += other.files;
  rows += other.rows;
  untagged += other.untagged;
  exact += other.exact;
  above += other.above;
  wrong += other.wrong;
  layer += other.layer;
  class_rows += other.class_rows;
  class_right += other.class_right;
  role_modules += other.role_modules;
  role_right += other.role_right;
  for (std::size_t i = 0; i < level_rows.size(); ++i) {
    level_rows[i] += other.level_rows[i];
    level_exact[i] += other.level_exact[i];
  }
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.2f}", 100.0 * static_cast<double>(part) /
                                                static_cast<double>(whole));
}

std::string Generic(std::string_view path) {
  std::string result;
  for (const std::string_view atom : Split(path, '.')) {
    if (!result.empty()) result += '.';
    result += IsIndex(atom) ? "*" : std::string(atom);
  }
  return result.empty() ? "<root>" : result;
}

}  // namespace onnx_tag::bench
