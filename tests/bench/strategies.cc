// Scores every strategy against models that were recorded and exported by
// PyTorch: <model>/<variant>.onnx, <variant>.truth.tsv and recording.json.
//
//   strategies FOLDER [--model GLOB] [--variant GLOB] [--strategy NAME]
//              [--files] [--worst N] [--nodes]
//   strategies FOLDER --markdown         the tables of docs/guide/strategies.md
//   strategies FOLDER --floors FILE      exit 1 where a strategy is below
//
// enhanced_semantic and usage_based get the file alone; universal gets the
// recorded modules, htp the recorded run, and fx_graph the recorded FX graph
// where the file has not the metadata of the dynamo exporter.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "clues/recording/module_map.h"
#include "command_line.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/recording.h"
#include "score_report.h"
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

  void Add(const Row& other) {
    score.Add(other.score);
    auxiliary += other.auxiliary;
  }
};

struct Facts {
  std::shared_ptr<const Recording> recording;
  std::shared_ptr<const ModuleMap> modules;
};

Facts ReadFacts(const std::filesystem::path& path) {
  const std::string text = ReadAll(path);
  auto recording = std::make_shared<Recording>(ReadRecording(text));
  recording->file = path.string();
  auto modules = std::make_shared<ModuleMap>(ReadModuleMap(text));
  modules->name = path.string();
  return {std::move(recording), std::move(modules)};
}

MappingFacts FactsFor(const StrategyInfo& info, const Model& model,
                      const Facts& facts) {
  MappingFacts wanted;
  if (info.need != Need::kNothing) wanted.hierarchy = facts.modules;
  if (info.need == Need::kTrace) wanted.trace = facts.recording;
  if (info.need == Need::kFx && !HasFxMetadata(model) &&
      !facts.recording->fx.empty()) {
    wanted.fx = facts.recording;
  }
  return wanted;
}

using Key = std::pair<std::string, std::string>;  // variant or file, strategy

class Strategist {
 public:
  explicit Strategist(const Options& options)
      : options_(options), floors_(options.floors, "strategy") {}

  int Run() {
    for (const TruthFile& file :
         FindTruth(options_.folder, options_.model, options_.variant)) {
      if (!floors_.Wants(file.variant) ||
          file.hierarchy.filename() != "recording.json") {
        continue;
      }
      ScoreFile(file);
    }
    if (options_.markdown) {
      PrintMarkdown();
    } else {
      PrintTable();
    }
    return CheckFloors();
  }

 private:
  void ScoreFile(const TruthFile& file) {
    const Facts facts = ReadFacts(file.hierarchy);
    const std::string bytes = file.Bytes();
    const Model model = ReadModel(bytes);
    const std::vector<TruthRow> rows = ReadTruth(file, model);
    const std::string name = fmt::format("{}/{}", file.model, file.variant);
    for (const StrategyInfo& info : Strategies()) {
      if (!options_.strategy.empty() && options_.strategy != info.name) {
        continue;
      }
      const std::string strategy(info.name);
      try {
        MappingOptions mapping;
        mapping.structure = false;  // its names are invented
        mapping.strategy = info.name;
        const Tagging tagging =
            MapNodes(model, mapping, FactsFor(info, model, facts));
        const Row row = ScoreTags(model, tagging, rows, info.name);
        if (options_.files) Print(name, info.name, row);
        by_file_[{name, strategy}] = row;
        by_variant_[{file.variant, strategy}].Add(row);
      } catch (const Error& error) {
        if (!options_.files) continue;
        fmt::print("{} {}: {}\n", name, info.name,
                   Split(error.what(), '\n').front());
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
      if (verdict != Verdict::kExact) {
        NoteMiss(model, tag, row, module, verdict, strategy);
      }
    }
    return result;
  }

  void NoteMiss(const Model& model, const Tag& tag, const TruthRow& row,
                const std::string& module, Verdict verdict,
                std::string_view strategy) {
    const auto source = kSourceNames[static_cast<std::size_t>(tag.source)];
    const auto confidence =
        kConfidenceNames[static_cast<std::size_t>(tag.confidence)];
    if (options_.nodes) {
      fmt::print("  {} {}#{} {} is {} got {} [{} {}]\n", strategy,
                 model.GraphPath(model[row.node].graph), model[row.node].index,
                 row.op, row.module, module, source, confidence);
    }
    ++misses_[fmt::format("{} {}{:20} is {} got {} [{} {}]", strategy,
                          verdict == Verdict::kWrongLayer ? "LAYER " : "",
                          row.op, Generic(row.module), Generic(module), source,
                          confidence)];
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
    for (const auto& [key, row] : by_variant_) {
      Print(key.first, key.second, row);
    }
    PrintWorst(misses_, options_.worst);
  }

  void PrintMarkdown() const {
    fmt::print(
        "| variant | strategy | files | nodes | tagged | exact | of the tagged "
        "| above | wrong | wrong layer | auxiliary | certain | high | medium "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [key, row] : by_variant_) {
      const Score& s = row.score;
      fmt::print(
          "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} "
          "| {} |\n",
          key.first, key.second, s.files, s.rows,
          Percent(s.rows - s.untagged, s.rows), Percent(s.exact, s.rows),
          Percent(s.exact, s.rows - s.untagged), Percent(s.above, s.rows),
          Percent(s.wrong, s.rows), Percent(s.layer, s.rows),
          Percent(row.auxiliary, s.rows),
          Percent(s.level_exact[3], s.level_rows[3]),
          Percent(s.level_exact[2], s.level_rows[2]),
          Percent(s.level_exact[1], s.level_rows[1]));
    }
    fmt::print("\n| model |");
    for (const StrategyInfo& info : Strategies())
      fmt::print(" {} |", info.name);
    fmt::print("\n|---|---|---|---|---|---|\n");
    std::string last;
    for (const auto& [key, unused] : by_file_) {
      if (key.first == last) continue;
      last = key.first;
      fmt::print("| {} |", last);
      for (const StrategyInfo& info : Strategies()) {
        const auto at = by_file_.find({last, std::string(info.name)});
        fmt::print(" {} |", at == by_file_.end() ? "-" : Cell(at->second));
      }
      fmt::print("\n");
    }
  }

  // "100 / 99.3 / 0": tagged, exact, wrong layer.
  static std::string Cell(const Row& row) {
    const Score& s = row.score;
    const auto percent = [&](std::uint64_t part) {
      const double share =
          100.0 * static_cast<double>(part) / static_cast<double>(s.rows);
      if (part == 0) return std::string("0");
      return part == s.rows ? std::string("100")
                            : fmt::format("{:.1f}", std::min(share, 99.9));
    };
    return fmt::format("{} / {} / {}", percent(s.rows - s.untagged),
                       percent(s.exact), percent(s.layer));
  }

  // Lines of `variant strategy tagged exact wrong_layer`: at least, at least,
  // at most, in per cent; `exact` is of the tagged nodes.
  int CheckFloors() const {
    int failures = 0;
    for (const std::vector<std::string>& words : floors_.lines()) {
      const auto at = by_variant_.find({words.at(0), words.at(1)});
      if (at == by_variant_.end()) {
        fmt::print(stderr, "{} {}: nothing was scored\n", words[0], words[1]);
        ++failures;
        continue;
      }
      const Score& s = at->second.score;
      const auto share = [](std::uint64_t part, std::uint64_t whole) {
        return whole == 0 ? 100.0
                          : 100.0 * static_cast<double>(part) /
                                static_cast<double>(whole);
      };
      const double tagged = share(s.rows - s.untagged, s.rows);
      const double exact = share(s.exact, s.rows - s.untagged);
      const double layer = share(s.layer, s.rows);
      if (tagged < std::stod(words.at(2)) || exact < std::stod(words.at(3)) ||
          layer > std::stod(words.at(4))) {
        fmt::print(stderr,
                   "{} {}: {:.2f} % tagged, {:.2f} % of it exact, {:.2f} % in "
                   "a wrong layer; the floor is {}, {} and {}\n",
                   words[0], words[1], tagged, exact, layer, words[2], words[3],
                   words[4]);
        ++failures;
      }
    }
    return failures == 0 ? 0 : 1;
  }

  const Options& options_;
  const Floors floors_;
  std::map<Key, Row> by_variant_;
  std::map<Key, Row> by_file_;
  Misses misses_;
};

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("strategies FOLDER");
  line.Value("--model", options.model, "GLOB");
  line.Value("--variant", options.variant, "GLOB");
  line.Value("--strategy", options.strategy, "NAME");
  line.Flag("--files", options.files);
  line.Number("--worst", options.worst);
  line.Flag("--nodes", options.nodes);
  line.Flag("--markdown", options.markdown);
  line.Value("--floors", options.floors, "FILE");
  if (!line.Parse(argc, argv, options.folder)) return line.Usage();
  return Strategist(options).Run();
}
