// What the mapping loses without each source, and each rung, of a strategy.
//
//   ablation TRUTH_DIR [--strategy NAME] [--model GLOB] [--variant GLOB]
//   ablation TRUTH_DIR --recorded   models with a recording.json beside them
//   ablation TRUTH_DIR --hierarchy  with the modules of such a file, or of a
//                                   hierarchy.json
//   ablation DIR --wild             models without truth: only what changes
//
// Evidence is gathered once per file. The nodes are placed with all sources and
// rungs, then once without each. `places`: nodes that it wins. `changes`: nodes
// that get another module or confidence without it, or none. `exact`, `wrong`,
// `tagged`: how many fewer or more nodes of the truth, in all files, the
// mapping without it has.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "clues/recording/module_map.h"
#include "command_line.h"
#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/recording.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

namespace fs = std::filesystem;

struct Loss {
  std::uint64_t places = 0;
  std::uint64_t changes = 0;
  std::uint64_t files = 0;  // with changes
  std::int64_t tagged = 0;
  std::int64_t exact = 0;
  std::int64_t wrong = 0;
};

class Ablation {
 public:
  explicit Ablation(const std::string& strategy)
      : strategy_(FindStrategy(strategy)),
        sources_(AllSources().size()),
        losses_(sources_ + strategy_.rungs.size()) {}

  void Add(const std::string& bytes, const TruthFile* truth,
           const MappingFacts& facts) {
    const Model model = ReadModel(bytes);
    const GraphFacts graph = GatherGraph(model);
    const Evidence evidence =
        GatherEvidence(graph, WantedBy(strategy_, model, true, facts));
    const std::vector<TruthRow> rows =
        truth == nullptr ? std::vector<TruthRow>() : ReadTruth(*truth, model);
    nodes_ += model.node_count();
    rows_ += rows.size();
    const Placed all = PlaceWithout(evidence, losses_.size());
    const Score whole = ScoreOf(evidence, rows, all);
    exact_ += whole.exact;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      Loss& loss = losses_[i];
      if (won_[i] == 0) continue;
      loss.places += won_[i];
      const Placed placed = PlaceWithout(evidence, i);
      std::uint64_t changes = 0;
      for (const NodeId node : model.Nodes()) {
        changes += placed[node].module != all[node].module ||
                   placed[node].confidence != all[node].confidence;
      }
      if (changes == 0) continue;
      loss.changes += changes;
      ++loss.files;
      const Score score = ScoreOf(evidence, rows, placed);
      loss.tagged += Less(score.untagged, whole.untagged);
      loss.exact += Less(whole.exact, score.exact);
      loss.wrong += Less(whole.wrong, score.wrong);
    }
    ++files_;
  }

  void Print() const {
    fmt::print("{} files, {} nodes, {} with truth, {} exact\n", files_, nodes_,
               rows_, exact_);
    fmt::print("{:18} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8}\n", "without",
               "places", "changes", "files", "tagged", "exact", "wrong");
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      const Loss& loss = losses_[i];
      fmt::print("{:18} {:8} {:8} {:6} {:+8} {:+8} {:+8}\n", NameOf(i),
                 loss.places, loss.changes, loss.files, -loss.tagged,
                 -loss.exact, -loss.wrong);
    }
  }

 private:
  static std::int64_t Less(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
  }

  std::string_view NameOf(std::size_t i) const {
    return i < sources_ ? AllSources()[i].name
                        : strategy_.rungs[i - sources_].name;
  }

  // All sources and rungs but one; with all of them, counts what each wins.
  Placed PlaceWithout(const Evidence& evidence, std::size_t left_out) {
    const bool whole = left_out == losses_.size();
    Placed placed(evidence.model.node_count());
    const Clues clues =
        ReadSources(evidence, strategy_.set,
                    left_out < sources_ ? static_cast<WriterId>(left_out)
                                        : WriterId::kFirstRung);
    AcceptClues(clues, placed);
    if (whole) {
      won_.assign(losses_.size(), 0);
      for (const NodeId node : evidence.model.Nodes()) {
        const Clue* const clue = clues.Strongest(node);
        if (clue != nullptr) ++won_[static_cast<std::size_t>(clue->from)];
      }
    }
    for (std::size_t i = 0; i < strategy_.rungs.size(); ++i) {
      if (sources_ + i == left_out ||
          strategy_.rungs[i].name == kPlacementRung) {
        continue;
      }
      const auto accepted = Climb(evidence, strategy_.rungs[i], placed);
      if (whole) won_[sources_ + i] = accepted.size();
    }
    return placed;
  }

  static Score ScoreOf(const Evidence& evidence,
                       const std::vector<TruthRow>& rows,
                       const Placed& placed) {
    Score score;
    for (const TruthRow& row : rows) {
      const Tag& tag = placed[row.node];
      if (!tag.tagged()) {
        ++score.untagged;
        continue;
      }
      score.Add(Judge(evidence.modules.Path(tag.module), row), tag.confidence);
    }
    return score;
  }

  const Strategy& strategy_;
  const std::size_t sources_;  // how many there are; then come the rungs
  std::vector<Loss> losses_;
  std::vector<std::size_t> won_;  // in the file at hand
  std::uint64_t files_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t exact_ = 0;
};

struct Options {
  std::string folder;
  std::string strategy = "enhanced_semantic";
  std::string model = "*";
  std::string variant = "*";
  bool recorded = false;
  bool hierarchy = false;
  bool wild = false;
};

MappingFacts RecordedFacts(const fs::path& folder) {
  const std::string text = ReadAll(folder / "recording.json");
  const auto recording = std::make_shared<Recording>(ReadRecording(text));
  MappingFacts facts;
  if (!recording->trace.empty()) facts.trace = recording;
  if (!recording->fx.empty()) facts.fx = recording;
  return facts;
}

MappingFacts HierarchyFacts(const fs::path& file) {
  MappingFacts facts;
  facts.hierarchy =
      std::make_shared<const ModuleMap>(ReadModuleMap(ReadAll(file)));
  return facts;
}

int Run(const Options& options) {
  Ablation ablation(options.strategy);
  const auto add = [&](const fs::path& onnx, const TruthFile* truth,
                       const MappingFacts& facts) {
    try {
      ablation.Add(truth == nullptr ? ReadAll(onnx) : truth->Bytes(), truth,
                   facts);
    } catch (const Error& error) {
      fmt::print(stderr, "{}: {}\n", onnx.string(), error.what());
    }
  };
  if (options.wild) {
    for (const auto& entry : fs::recursive_directory_iterator(options.folder)) {
      if (entry.path().extension() == ".onnx") add(entry.path(), nullptr, {});
    }
  } else {
    for (const TruthFile& file :
         FindTruth(options.folder, options.model, options.variant)) {
      const fs::path folder = file.onnx.parent_path();
      if (options.hierarchy) {
        if (file.hierarchy.empty()) continue;
        add(file.onnx, &file, HierarchyFacts(file.hierarchy));
      } else if (!options.recorded) {
        add(file.onnx, &file, {});
      } else if (fs::exists(folder / "recording.json")) {
        add(file.onnx, &file, RecordedFacts(folder));
      }
    }
  }
  ablation.Print();
  return 0;
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("ablation DIR");
  line.Value("--strategy", options.strategy, "NAME");
  line.Value("--model", options.model, "GLOB");
  line.Value("--variant", options.variant, "GLOB");
  line.Flag("--recorded", options.recorded);
  line.Flag("--hierarchy", options.hierarchy);
  line.Flag("--wild", options.wild);
  if (!line.Parse(argc, argv, options.folder)) return line.Usage();
  return Run(options);
}
