#include "truth.h"

#include <fmt/core.h>

#include <fstream>
#include <iterator>

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

}  // namespace

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Verdict Judge(const std::string& module, const TruthRow& row) {
  if (test::IsExact(module, row)) return Verdict::kExact;
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
