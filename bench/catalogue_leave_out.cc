// Hides a model's family from the catalogue and counts what is still called
// certain: a family that nobody has heard of must not get another's names.
//
//   catalogue_leave_out TRUTH_DIR [--variant GLOB] [--files]
//
// TRUTH_DIR as for accuracy. The classes of torch.nn are counted apart: they
// are right whatever the family.
#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "catalogue/table.h"
#include "mapping/assign_classes.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

struct Counts {
  std::uint64_t modules = 0, library = 0, certain = 0, false_certain = 0,
                false_library = 0, roots = 0, named_roots = 0, false_roots = 0;

  void Add(const Counts& other) {
    modules += other.modules;
    library += other.library;
    certain += other.certain;
    false_certain += other.false_certain;
    false_library += other.false_library;
    roots += other.roots;
    named_roots += other.named_roots;
    false_roots += other.false_roots;
  }
};

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each module's class, as the truth has it.
std::map<std::string, std::string> ReadClasses(const fs::path& path) {
  std::map<std::string, std::string> classes;
  const std::string text = ReadAll(path);
  bool header = true;
  for (const std::string_view line : Split(text, '\n')) {
    const auto columns = Split(line, '\t');
    if (header || columns.size() < 5 || columns[4].empty()) {
      header = false;
      continue;
    }
    const std::vector<std::string_view> chain = Split(columns[4], '/');
    std::vector<std::string_view> atoms;
    if (!columns[3].empty()) atoms = Split(columns[3], '.');
    if (chain.size() != atoms.size() + 1) continue;
    std::string path_so_far;
    classes[""] = chain[0];
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      if (i > 0) path_so_far += '.';
      path_so_far += atoms[i];
      classes[path_so_far] = chain[i + 1];
    }
  }
  return classes;
}

// The family of the model, or "" where the catalogue does not know it.
std::string_view FamilyOf(const catalogue::Table& table,
                          std::string_view root_class) {
  const catalogue::TextId text = table.FindText(root_class);
  if (text == kNo<catalogue::TextId>) return {};
  for (const catalogue::ClassId id : table.Namesakes(text)) {
    if (table[id].mark != catalogue::Mark::kNone) {
      return table.Text(table.Family(id));
    }
  }
  return {};
}

bool IsTorch(const catalogue::Table& table, std::string_view name) {
  const catalogue::TextId text = table.FindText(name);
  if (text == kNo<catalogue::TextId>) return false;
  const auto namesakes = table.Namesakes(text);
  return std::any_of(namesakes.begin(), namesakes.end(),
                     [&](catalogue::ClassId id) { return table.IsTorch(id); });
}

Counts CountFile(const Model& model, std::string_view family,
                 const std::map<std::string, std::string>& truth) {
  const catalogue::Table& table = catalogue::BuiltIn();
  Tagging tagging = MapNodes(model, {});
  for (const ModuleId id : AllIds<ModuleId>(tagging.modules.size())) {
    tagging.modules.SetClass(id, "");
  }
  tagging.facts = {};
  AssignClasses(GatherEvidence(model), tagging, family);
  Counts counts;
  for (const ModuleId id : AllIds<ModuleId>(tagging.modules.size())) {
    const auto known = truth.find(tagging.modules.Path(id));
    if (known == truth.end()) continue;
    const bool library = !IsTorch(table, known->second);
    const std::string_view said = tagging.modules.Class(id);
    const bool certain =
        tagging.facts[id].class_confidence == Confidence::kCertain;
    const bool wrong = certain && said != known->second;
    ++counts.modules;
    counts.library += library ? 1 : 0;
    counts.certain += certain ? 1 : 0;
    counts.false_certain += wrong ? 1 : 0;
    counts.false_library += wrong && library ? 1 : 0;
    if (id == ModuleTree::kRoot) {
      counts.roots = 1;
      counts.named_roots = said.empty() ? 0 : 1;
      counts.false_roots = wrong ? 1 : 0;
      if (wrong) {
        fmt::print("  certain, and wrong: {} for {}\n", said, known->second);
      }
    }
  }
  return counts;
}

double Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? 0.0
             : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void Print(std::string_view name, const Counts& c) {
  fmt::print(
      "{:36} modules {:6} certain {:5.1f} %  false certainty {:5.2f} %  of "
      "library classes {:5.2f} %  roots named {:3}/{:3}, falsely certain {}\n",
      name, c.modules, Percent(c.certain, c.modules),
      Percent(c.false_certain, c.modules), Percent(c.false_library, c.library),
      c.named_roots, c.roots, c.false_roots);
}

int Run(const std::string& directory, const std::string& variant, bool files) {
  std::vector<fs::path> truths;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    constexpr std::string_view kEnding = ".truth.tsv";
    if (name.ends_with(kEnding) &&
        fnmatch(variant.c_str(),
                name.substr(0, name.size() - kEnding.size()).c_str(), 0) == 0) {
      truths.push_back(entry.path());
    }
  }
  std::sort(truths.begin(), truths.end());
  Counts all;
  std::set<std::string_view> families;
  for (const fs::path& path : truths) {
    const auto truth = ReadClasses(path);
    const auto root = truth.find("");
    if (root == truth.end()) continue;
    const std::string_view family =
        FamilyOf(catalogue::BuiltIn(), root->second);
    if (family.empty()) continue;
    families.insert(family);
    fs::path onnx = path;
    onnx.replace_extension().replace_extension(".onnx");
    const std::string bytes = ReadAll(onnx);
    const Model model = ReadModel(Bytes(bytes));
    const Counts counts = CountFile(model, family, truth);
    if (files) Print(path.parent_path().filename().string(), counts);
    all.Add(counts);
  }
  Print(fmt::format("{} families, {} files", families.size(), all.roots), all);
  return 0;
}

}  // namespace
}  // namespace onnx_tag

int main(int argc, char** argv) {
  std::string directory, variant = "ts";
  bool files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--files") {
      files = true;
    } else if (word == "--variant" && i + 1 < argc) {
      variant = argv[++i];
    } else {
      directory = word;
    }
  }
  if (directory.empty()) {
    std::fputs(
        "usage: catalogue_leave_out TRUTH_DIR [--variant GLOB] [--files]\n",
        stderr);
    return 2;
  }
  try {
    return onnx_tag::Run(directory, variant, files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "catalogue_leave_out: %s\n", error.what());
    return 1;
  }
}
