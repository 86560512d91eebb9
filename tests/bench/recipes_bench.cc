// What the recipe book is worth: the mapping with and without it, on models
// with known answers.
//
//   recipes_bench TRUTH_DIR [--shelf DIR[:GLOB,...]] [--variant GLOB]
//                 [--model GLOB] [--leave-out] [--strict] [--without]
//                 [--files] [--worst N] [--calibrate]
//
// --shelf       a folder of recipes, folder by family; may be repeated;
//               default: the built-in book
// --leave-out   recipes of the test's own family are taken out
// --strict      recipes of the same model and exporter are
// --without     no book at all
// --calibrate   how right the book itself is, by kind of answer and fit
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "base/text.h"
#include "clues/recipes/answer/ask_book.h"
#include "command_line.h"
#include "folder_book.h"
#include "onnx_tag/mapping.h"
#include "score_report.h"

namespace onnx_tag::bench {
namespace {

struct Options {
  std::string truth;
  std::string model = "*";
  std::string variant = "*";
  Shelf shelf;
  std::size_t worst = 0;
  bool leave_out = false;
  bool strict = false;
  bool without = false;
  bool files = false;
  bool calibrate = false;
};

// "ts" of "ts-noscope", "ts@ge1.13".
std::string ExporterOf(const std::string& variant) {
  return variant.substr(0, variant.find_first_of("-@"));
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  void Run() {
    for (const TruthFile& file :
         FindTruth(options_.truth, options_.model, options_.variant)) {
      const Score score = ScoreFile(file);
      by_variant_[file.variant].Add(score);
      all_.Add(score);
    }
    fmt::print(
        "{:34} {:>4} {:>7} {:>6} {:>6} {:>6} {:>6} | {:>6} {:>6} "
        "{:>6} {:>6} {:>6} {:>6}\n",
        "variant", "file", "nodes", "exact", "above", "wrong", "layer!", "cert",
        "right", "high", "right", "med", "right");
    for (const auto& [variant, score] : by_variant_) Print(variant, score);
    Print("all", all_);
    for (const auto& [kind, score] : kinds_) Print(kind, score);
    PrintWorst(misses_, options_.worst);
  }

 private:
  Score ScoreFile(const TruthFile& file) {
    const std::string bytes = file.Bytes();
    const Model model = ReadModel(bytes);
    const std::vector<TruthRow> rows = ReadTruth(file, model);
    const std::string root =
        rows.empty() || rows[0].classes.empty() ? "" : rows[0].classes.front();
    const auto own = options_.shelf.FamiliesOf(root, file.model);
    const FolderBook book(options_.shelf, [&](const Shelf::Entry& entry) {
      if (options_.leave_out && own.contains(entry.family)) return false;
      return !options_.strict || entry.file.model != file.model ||
             ExporterOf(entry.file.variant) != ExporterOf(file.variant);
    });
    MappingOptions mapping;
    mapping.structure = false;  // its names are invented
    mapping.recipes = !options_.without;
    MappingFacts facts;
    facts.book = &book;
    const auto start = std::chrono::steady_clock::now();
    const Tagging tagging = MapNodes(model, mapping, facts);
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    Score score;
    score.files = 1;
    for (const TruthRow& row : rows) {
      ++score.rows;
      const Tag& tag = tagging.tags[row.node];
      const std::string module =
          tag.tagged() ? tagging.modules.Path(tag.module) : "-";
      if (!tag.tagged()) {
        ++score.untagged;
      } else {
        const Verdict verdict = Judge(module, row);
        score.Add(verdict, tag.confidence);
        if (verdict == Verdict::kExact) continue;
      }
      ++misses_[fmt::format(
          "{:18} is {}  got {}  [{} {}]", row.op, Generic(row.module),
          Generic(module), kSourceNames[static_cast<std::size_t>(tag.source)],
          kConfidenceNames[static_cast<std::size_t>(tag.confidence)])];
    }
    if (options_.files || options_.calibrate) {
      const recipes::BookAnswer answer =
          recipes::AskBook(recipes::TokenGraph(GraphFacts(model)), book);
      if (options_.calibrate) {
        Calibrate(answer, rows);
        for (const recipes::BookAnswer& part : answer.parts) {
          Calibrate(part, rows);
        }
      }
      if (!options_.files) return score;
      Print(file.model + "/" + file.variant, score,
            fmt::format("  {:.0f} ms, {}{} fit {:.2f} names {:.2f}{}",
                        took.count(), answer.recipe,
                        answer.roles_only ? " ROLES" : "", answer.fit,
                        answer.names, PartsOf(answer)));
    }
    return score;
  }

  static std::string PartsOf(const recipes::BookAnswer& answer) {
    std::string text;
    if (!answer.nearest.empty()) {
      text =
          fmt::format(" refused {} {:.2f}", answer.nearest, answer.nearest_fit);
    }
    for (const recipes::BookAnswer& part : answer.parts) {
      text += fmt::format(", part {} fit {:.2f} names {:.2f}", part.recipe,
                          part.fit, part.names);
    }
    return text;
  }

  void Calibrate(const recipes::BookAnswer& answer,
                 const std::vector<TruthRow>& rows) {
    std::map<NodeId, const TruthRow*> truth;
    for (const TruthRow& row : rows) truth[row.node] = &row;
    for (const recipes::NodeAnswer& node : answer.nodes) {
      const auto at = truth.find(node.node);
      if (at == truth.end()) continue;
      Score& score = kinds_[fmt::format(
          "{} {}{}{}{} fit {:.2f} names {}", node.because,
          node.confirmed ? "confirmed" : "-", node.tied ? " tied" : "",
          node.cut ? " cut" : "", node.in_list ? " in list" : "",
          std::floor(answer.fit * 20) / 20,
          answer.names >= 0.65  ? "good"
          : answer.names >= 0.3 ? "fair"
                                : "bad")];
      ++score.rows;
      score.Add(Judge(node.path, *at->second), Confidence::kLow);
    }
  }

  static void Print(const std::string& name, const Score& s,
                    const std::string& note = "") {
    fmt::print("{:34} {:4} {:7} {:>6} {:>6} {:>6} {:>6} |", name, s.files,
               s.rows, Percent(s.exact, s.rows), Percent(s.above, s.rows),
               Percent(s.wrong, s.rows), Percent(s.layer, s.rows));
    for (const std::size_t level : {3u, 2u, 1u}) {
      fmt::print(" {:>6} {:>6}", Percent(s.level_rows[level], s.rows),
                 Percent(s.level_exact[level], s.level_rows[level]));
    }
    fmt::print("{}\n", note);
  }

  const Options& options_;
  std::map<std::string, Score> by_variant_;
  Score all_;
  Misses misses_;
  std::map<std::string, Score> kinds_;  // of answers
};

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("recipes_bench TRUTH_DIR");
  line.Each("--shelf", "DIR[:GLOB,...]", [&](const std::string& shelf) {
    const std::size_t colon = shelf.find(':');
    options.shelf.Add(shelf.substr(0, colon), colon == std::string::npos
                                                  ? "*"
                                                  : shelf.substr(colon + 1));
  });
  line.Value("--variant", options.variant, "GLOB");
  line.Value("--model", options.model, "GLOB");
  line.Flag("--leave-out", options.leave_out);
  line.Flag("--strict", options.strict);
  line.Flag("--without", options.without);
  line.Flag("--calibrate", options.calibrate);
  line.Flag("--files", options.files);
  line.Number("--worst", options.worst);
  if (!line.Parse(argc, argv, options.truth)) return line.Usage();
  if (options.shelf.entries().empty()) options.shelf.AddBuiltIn();
  Bench(options).Run();
  return 0;
}
