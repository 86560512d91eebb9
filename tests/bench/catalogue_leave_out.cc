// Hides a model's family from the catalogue and counts what is still called
// certain: a family that nobody has heard of must not get another's names.
//
//   catalogue_leave_out TRUTH_DIR [--variant GLOB] [--library] [--files]
//
// --library hides the whole library of the model: what is named then is wrong.
// TRUTH_DIR as for accuracy. The classes of torch.nn are counted apart: they
// are right whatever the family.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "command_line.h"
#include "mapping/classes/assign_classes.h"
#include "mapping/classes/catalogue/table.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "role_paths.h"

namespace onnx_tag {
namespace {

struct Counts {
  std::uint64_t modules = 0, library = 0, certain = 0, false_certain = 0,
                false_library = 0, false_sure = 0, false_named = 0, roots = 0,
                named_roots = 0, false_roots = 0;

  void Add(const Counts& other) {
    modules += other.modules;
    library += other.library;
    certain += other.certain;
    false_certain += other.false_certain;
    false_library += other.false_library;
    false_sure += other.false_sure;
    false_named += other.false_named;
    roots += other.roots;
    named_roots += other.named_roots;
    false_roots += other.false_roots;
  }
};

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
  // Recipes name modules and classes by themselves; here the catalogue is
  // asked.
  MappingOptions options;
  options.structure = false;  // its names are invented
  options.recipes = false;
  Tagging tagging = MapNodes(model, options);
  for (const ModuleId id : tagging.modules.All()) {
    tagging.modules.SetClass(id, "");
  }
  tagging.facts = {};
  const GraphFacts graph = GatherGraph(model);
  AssignClasses(graph, ModuleEvidence(GatherEvidence(graph)), tagging,
                {.catalogue = true, .hidden = family});
  Counts counts;
  for (const ModuleId id : tagging.modules.All()) {
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
    if (!said.empty() && said != known->second) {
      const bool sure = tagging.facts[id].class_confidence >= Confidence::kHigh;
      ++(sure ? counts.false_sure : counts.false_named);
    }
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

double Share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? 0.0
             : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void Print(std::string_view name, const Counts& c) {
  fmt::print(
      "{:36} modules {:6} certain {:5.1f} %  false certainty {:5.2f} %  of "
      "library classes {:5.2f} %  false at high or certain {:5.2f} %, at "
      "medium "
      "or low {:5.2f} %  roots named {:3}/{:3}, falsely certain {}\n",
      name, c.modules, Share(c.certain, c.modules),
      Share(c.false_certain, c.modules), Share(c.false_library, c.library),
      Share(c.false_sure, c.modules), Share(c.false_named, c.modules),
      c.named_roots, c.roots, c.false_roots);
}

int Run(const std::string& directory, const std::string& variant, bool files,
        bool libraries) {
  Counts all;
  std::set<std::string_view> families;
  for (const bench::TruthFile& file :
       bench::FindTruth(directory, "*", variant)) {
    const std::string bytes = file.Bytes();
    const Model model = ReadModel(bytes);
    const auto truth = bench::TrueClasses(bench::ReadTruth(file, model));
    const auto root = truth.find("");
    if (root == truth.end()) continue;
    std::string_view family = bench::CatalogueFamily(root->second);
    if (family.empty()) continue;
    if (libraries) family = family.substr(0, family.find('.'));
    families.insert(family);
    const Counts counts = CountFile(model, family, truth);
    if (files) Print(file.model, counts);
    all.Add(counts);
  }
  Print(fmt::format("{} {}, {} files", families.size(),
                    libraries ? "libraries" : "families", all.roots),
        all);
  return 0;
}

}  // namespace
}  // namespace onnx_tag

int main(int argc, char** argv) {
  std::string directory, variant = "ts";
  bool files = false, libraries = false;
  onnx_tag::bench::CommandLine line("catalogue_leave_out TRUTH_DIR");
  line.Value("--variant", variant, "GLOB");
  line.Flag("--files", files);
  line.Flag("--library", libraries);
  if (!line.Parse(argc, argv, directory)) return line.Usage();
  try {
    return onnx_tag::Run(directory, variant, files, libraries);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "catalogue_leave_out: %s\n", error.what());
    return 1;
  }
}
