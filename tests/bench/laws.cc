// Lists the nodes that contradict a parameter they read, over a folder of
// models, and compares them with known truth.
//
//   laws FOLDER [--strategy NAME] [--before] [--files] [--worst N]
//
// --before lists the tags of the ladder, before the laws are applied. A law
// that is still broken after mapping is a defect: the exit code is 1.
#include "mapping/mapping/laws.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "command_line.h"
#include "mapping/ladder/ladder.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "score_report.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

struct Options {
  std::string folder;
  std::string strategy = "enhanced_semantic";
  std::size_t worst = 40;
  bool before = false;
  bool files = false;
};

// The tags of the ladder alone.
Tagging Climbed(const Model& model, const MappingOptions& options) {
  const Strategy& strategy = FindStrategy(options.strategy);
  const GraphFacts graph = GatherGraph(model);
  const Evidence evidence =
      GatherEvidence(graph, WantedBy(strategy, model, true, {}));
  Tagging tagging;
  tagging.tags.resize(model.node_count());
  PlaceAll(evidence, strategy, tagging.tags);
  tagging.origins = FindOrigins(evidence, tagging.tags);
  tagging.modules = evidence.modules;
  return tagging;
}

class Laws {
 public:
  explicit Laws(const Options& options) : options_(options) {}

  int Run() {
    namespace fs = std::filesystem;
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(options_.folder)) {
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      try {
        CheckFile(path);
      } catch (const Error& error) {
        fmt::print("{}: {}\n", path.string(), error.what());
      }
    }
    for (const auto& [what, count] : totals_) {
      fmt::print("{:7} {}\n", count, what);
    }
    PrintWorst(examples_, options_.worst);
    fmt::print("{} files, {} nodes, {} breaches\n", paths.size(), nodes_,
               breaches_);
    return breaches_ > 0 && !options_.before ? 1 : 0;
  }

 private:
  void CheckFile(const std::filesystem::path& path) {
    const std::string bytes = ReadAll(path);
    const Model model = ReadModel(bytes);
    MappingOptions mapping;
    mapping.structure = false;  // its names are invented
    mapping.strategy = options_.strategy;
    Tagging tagging =
        options_.before ? Climbed(model, mapping) : MapNodes(model, mapping);
    std::unordered_map<std::uint32_t, TruthRow> truth;
    std::filesystem::path table = path;
    table.replace_extension(".truth.tsv");
    if (std::filesystem::exists(table)) {
      TruthFile file;
      file.truth = table;
      for (TruthRow& row : ReadTruth(file, model)) {
        truth.emplace(Index(row.node), std::move(row));
      }
    }
    nodes_ += model.node_count();
    std::size_t here = 0;
    for (const LawFinding& finding : CheckLaws(model, tagging)) {
      Count(model, tagging, finding, truth);
      if (finding.is_breach()) ++here;
    }
    breaches_ += here;
    if (options_.files && here > 0) {
      fmt::print("{:5} {}\n", here, path.string());
    }
  }

  void Count(const Model& model, const Tagging& tagging,
             const LawFinding& finding,
             const std::unordered_map<std::uint32_t, TruthRow>& truth) {
    const Tag& tag = tagging.tags[finding.node];
    const std::string module = tagging.modules.Path(tag.module);
    const std::string owner = tagging.modules.Path(finding.owner);
    std::string_view verdict = "no truth";
    if (const auto at =
            truth.find(static_cast<std::uint32_t>(Index(finding.node)));
        at != truth.end()) {
      const bool tag_right = Judge(module, at->second) == Verdict::kExact;
      const bool owner_right = Judge(owner, at->second) == Verdict::kExact;
      verdict = tag_right && owner_right ? "both right"
                : tag_right              ? "tag right"
                : owner_right            ? "parameter right"
                                         : "both wrong";
    }
    const std::string kind = fmt::format(
        "{} {:24} {:16} {}", kLawNames[static_cast<std::size_t>(finding.law)],
        finding.is_breach()
            ? "BREACH"
            : kExemptionNames[static_cast<std::size_t>(finding.exemption)],
        verdict, kConfidenceNames[static_cast<std::size_t>(tag.confidence)]);
    ++totals_[kind];
    ++examples_[fmt::format("{} {} [{}] tag {} parameter {} of {}", kind,
                            model.OpType(finding.node),
                            kSourceNames[static_cast<std::size_t>(tag.source)],
                            Generic(module), Generic(finding.said_by),
                            Generic(owner))];
  }

  const Options& options_;
  std::map<std::string, std::uint64_t> totals_;
  Misses examples_;
  std::uint64_t nodes_ = 0;
  std::uint64_t breaches_ = 0;
};

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("laws FOLDER");
  line.Value("--strategy", options.strategy, "NAME");
  line.Number("--worst", options.worst);
  line.Flag("--before", options.before);
  line.Flag("--files", options.files);
  if (!line.Parse(argc, argv, options.folder)) return line.Usage();
  return Laws(options).Run();
}
