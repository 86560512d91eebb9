// Scores every strategy against models that were recorded and exported by
// PyTorch: <model>/<variant>.onnx, <variant>.truth.tsv and recording.json.
//
//   strategies FOLDER [--model GLOB] [--variant GLOB] [--strategy NAME]
//              [--files] [--worst N] [--nodes]
//   strategies FOLDER --markdown         the tables of docs/strategies.md
//   strategies FOLDER --floors FILE      exit 1 where a strategy is below
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/recording.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

struct Options {
  std::string folder;
  std::string model = "*";
  std::string variant = "*";
  std::string strategy;
  std::string floors;
  std::size_t worst = 0;
  bool files = false;
  bool nodes = false;
  bool markdown = false;
};

struct Row {
  Score score;
  std::uint64_t auxiliary = 0;  // fallbacks among the rows
};

class Strategist {
 public:
  explicit Strategist(const Options& options) : options_(options) {}

  int Run() {
    for (const TruthFile& file :
         FindTruth(options_.folder, options_.model, options_.variant)) {
      ScoreFile(file);
    }
    PrintTable();
    return 0;
  }

 private:
  void ScoreFile(const TruthFile& file) {
    const auto recording = file.onnx.parent_path() / "recording.json";
    MappingOptions mapping;
    if (std::filesystem::exists(recording)) {
      auto read =
          std::make_shared<Recording>(ReadRecording(ReadAll(recording)));
      read->file = recording.string();
      mapping.trace = read;
      if (!read->fx.empty()) mapping.fx = read;
    }
    const std::string bytes = ReadAll(file.onnx);
    const Model model = ReadModel(bytes);
    const std::vector<TruthRow> rows = ReadTruth(ReadAll(file.truth), model);
    for (const StrategyInfo& info : Strategies()) {
      if (!options_.strategy.empty() && options_.strategy != info.name)
        continue;
      mapping.strategy = info.name;
      try {
        const Tagging tagging = MapNodes(model, mapping);
        const Row row = ScoreTags(model, tagging, rows, info.name);
        if (options_.files) {
          Print(fmt::format("{}/{}", file.model, file.variant), info.name, row);
        }
        Row& sum = table_[{file.variant, std::string(info.name)}];
        sum.score.Add(row.score);
        sum.auxiliary += row.auxiliary;
      } catch (const Error& error) {
        if (options_.files) {
          fmt::print("{}/{} {}: {}\n", file.model, file.variant, info.name,
                     Split(error.what(), '\n').front());
        }
      }
    }
  }

  Row ScoreTags(const Model& model, const Tagging& tagging,
                const std::vector<TruthRow>& rows, std::string_view strategy) {
    Row result;
    Score& score = result.score;
    score.files = 1;
    for (const TruthRow& row : rows) {
      ++score.rows;
      const Tag& tag = tagging.tags[row.node];
      if (!tag.tagged()) {
        ++score.untagged;
        continue;
      }
      result.auxiliary += tag.source == Source::kAuxiliary;
      const std::string module = tagging.modules.Path(tag.module);
      const Verdict verdict = Judge(module, row);
      score.Add(verdict, tag.confidence);
      if (verdict == Verdict::kExact) continue;
      const auto source = kSourceNames[static_cast<std::size_t>(tag.source)];
      const auto confidence =
          kConfidenceNames[static_cast<std::size_t>(tag.confidence)];
      if (options_.nodes) {
        fmt::print("  {} {}#{} {} is {} got {} [{} {}]\n", strategy,
                   model.GraphPath(model[row.node].graph),
                   model[row.node].index, row.op, row.module, module, source,
                   confidence);
      }
      ++misses_[fmt::format("{} {}{:20} is {} got {} [{} {}]", strategy,
                            verdict == Verdict::kWrongLayer ? "LAYER " : "",
                            row.op, Generic(row.module), Generic(module),
                            source, confidence)];
    }
    return result;
  }

  static void Print(const std::string& name, std::string_view strategy,
                    const Row& row) {
    const Score& s = row.score;
    fmt::print(
        "{:24} {:18} {:4} {:6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} "
        "{:>6} {:>6}\n",
        name, strategy, s.files, s.rows, Percent(s.rows - s.untagged, s.rows),
        Percent(s.exact, s.rows), Percent(s.exact, s.rows - s.untagged),
        Percent(s.above, s.rows), Percent(s.wrong, s.rows),
        Percent(s.layer, s.rows), Percent(row.auxiliary, s.rows),
        Percent(s.level_exact[3], s.level_rows[3]),
        Percent(s.level_exact[2], s.level_rows[2]),
        Percent(s.level_exact[1], s.level_rows[1]));
  }

  void PrintTable() const {
    fmt::print(
        "{:24} {:18} {:>4} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} "
        "{:>6} {:>6} {:>6}\n",
        "variant", "strategy", "file", "nodes", "tagged", "exact", "precis",
        "above", "wrong", "layer!", "aux", "cert", "high", "med");
    for (const auto& [key, row] : table_) Print(key.first, key.second, row);
    std::vector<std::pair<std::uint64_t, std::string>> worst;
    for (const auto& [what, count] : misses_) worst.emplace_back(count, what);
    std::sort(worst.rbegin(), worst.rend());
    for (std::size_t i = 0; i < std::min(options_.worst, worst.size()); ++i) {
      fmt::print("{:6} {}\n", worst[i].first, worst[i].second);
    }
  }

  const Options& options_;
  std::map<std::pair<std::string, std::string>, Row> table_;
  std::map<std::string, std::uint64_t> misses_;
};

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "--files") {
      options.files = true;
    } else if (word == "--nodes") {
      options.nodes = true;
    } else if (word == "--markdown") {
      options.markdown = true;
    } else if (word == "--model" && has_next) {
      options.model = argv[++i];
    } else if (word == "--variant" && has_next) {
      options.variant = argv[++i];
    } else if (word == "--strategy" && has_next) {
      options.strategy = argv[++i];
    } else if (word == "--floors" && has_next) {
      options.floors = argv[++i];
    } else if (word == "--worst" && has_next) {
      options.worst = std::stoul(argv[++i]);
    } else if (!word.starts_with("-") && options.folder.empty()) {
      options.folder = word;
    } else {
      return std::nullopt;
    }
  }
  if (options.folder.empty()) return std::nullopt;
  return options;
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  const auto options = onnx_tag::bench::Parse(argc, argv);
  if (!options) {
    fmt::print(stderr,
               "usage: strategies FOLDER [--model GLOB] [--variant GLOB] "
               "[--strategy NAME] [--files] [--worst N] [--nodes] "
               "[--markdown] [--floors FILE]\n");
    return 2;
  }
  return onnx_tag::bench::Strategist(*options).Run();
}
