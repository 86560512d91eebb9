// Scores the mapping against models whose answers are known.
//
//   accuracy TRUTH_DIR [--model GLOB] [--variant GLOB] [--files]
//            [--worst N [--wrong] [--layers]] [--nodes] [--hierarchy]
//            [--trace]
//   accuracy TRUTH_DIR --markdown            the tables of docs/how/accuracy.md
//   accuracy TRUTH_DIR --floors FILE [--group GROUP]
//                                            exit 1 where a variant is below
//
// --group: known, own or glued; `known` is what floors are for without it.
// --worst prints the most frequent misses ("!": a module of that path is known,
// so it could have been said), --wrong leaves out answers that are only too
// high in the tree, --layers keeps those of another layer, --nodes prints each.
// --no-recipes leaves the recipe book out, --placement lets the trained network
// place what nothing claims. --hierarchy gives the mapping the
// hierarchy.json or recording.json beside each model, and leaves out models
// without one; --trace the recorded run of the same file.
// `class`: of the exact nodes, how many have the right class for
// the module and all around it; `role`: of the modules of models that the
// catalogue knows, how many have the role path that their true classes give.
// --roles prints the most frequent wrong ones with --worst.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "clues/recording/module_map.h"
#include "command_line.h"
#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/recording.h"
#include "role_paths.h"
#include "score_report.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

struct Options {
  std::string truth;
  std::string model = "*";
  std::string variant = "*";
  std::string floors;
  std::string group;
  std::size_t worst = 0;
  bool files = false;
  bool wrong_only = false;
  bool layers_only = false;
  bool nodes = false;
  bool markdown = false;
  bool hierarchy = false;
  bool trace = false;
  bool recipes = true;
  bool placement = false;
  bool roles = false;
};

class Accuracy {
 public:
  explicit Accuracy(const Options& options)
      : options_(options),
        floors_(options.floors, "accuracy " + options.group) {}

  int Run() {
    for (const TruthFile& file :
         FindTruth(options_.truth, options_.model, options_.variant)) {
      if ((options_.hierarchy || options_.trace) && file.hierarchy.empty())
        continue;
      if (!options_.group.empty() &&
          test::GroupOf(file.model) != options_.group)
        continue;
      if (!floors_.Wants(file.variant)) continue;
      const Score score = ScoreFile(file);
      if (options_.files) Print(file.model + "/" + file.variant, score);
      by_variant_[file.variant].Add(score);
      all_.Add(score);
    }
    if (options_.markdown) {
      PrintMarkdown();
    } else {
      PrintTable();
    }
    return CheckFloors(floors_, by_variant_);
  }

 private:
  Score ScoreFile(const TruthFile& file) {
    Score score;
    score.files = 1;
    const std::string bytes = file.Bytes();
    const Model model = ReadModel(bytes);
    MappingOptions mapping;
    mapping.structure = false;  // its names are invented
    mapping.recipes = options_.recipes;
    mapping.placement = options_.placement;
    MappingFacts facts;
    if (options_.hierarchy) {
      ModuleMap map = ReadModuleMap(ReadAll(file.hierarchy));
      map.name = file.hierarchy.string();
      facts.hierarchy = std::make_shared<const ModuleMap>(std::move(map));
    }
    if (options_.trace) {
      auto recording =
          std::make_shared<Recording>(ReadRecording(ReadAll(file.hierarchy)));
      recording->file = file.hierarchy.string();
      if (!recording->trace.empty()) facts.trace = recording;
    }
    const Tagging tagging = MapNodes(model, mapping, facts);
    for (const std::string& note : tagging.notes) {
      fmt::print("{}/{}: {}\n", file.model, file.variant, note);
    }
    const std::vector<TruthRow> rows = ReadTruth(file, model);
    for (const TruthRow& row : rows) {
      ++score.rows;
      const Tag& tag = tagging.tags[row.node];
      if (!tag.tagged()) {
        ++score.untagged;
        ++misses_[fmt::format("{:23} is {}  got nothing", row.op,
                              Generic(row.module))];
        continue;
      }
      const std::string module = tagging.modules.Path(tag.module);
      const Verdict verdict = Judge(module, row);
      score.Add(verdict, tag.confidence);
      if (module == row.module && !row.classes.empty()) {
        ++score.class_rows;
        const bool right = ClassesRight(tagging, tag.module, row);
        score.class_right += right ? 1 : 0;
        if (!right && options_.hierarchy) {
          fmt::print("{}/{}: classes of {} are wrong\n", file.model,
                     file.variant, module);
        }
      }
      if (verdict != Verdict::kExact) {
        NoteMiss(model, tagging, row, module, verdict);
      }
    }
    ScoreRoles(tagging, rows, score);
    if (options_.markdown) ScoreRungs(model, rows);
    return score;
  }

  void ScoreRoles(const Tagging& tagging, const std::vector<TruthRow>& rows,
                  Score& score) {
    const auto classes = TrueClasses(rows);
    const auto root = classes.find("");
    if (root == classes.end() || CatalogueFamily(root->second).empty()) return;
    const RolePathScore roles = ScoreRolePaths(tagging, classes);
    score.role_modules = roles.modules;
    score.role_right = roles.right;
    if (!options_.roles) return;
    for (const auto& [what, count] : roles.wrong) misses_[what] += count;
  }

  void NoteMiss(const Model& model, const Tagging& tagging, const TruthRow& row,
                const std::string& module, Verdict verdict) {
    if (options_.roles) return;
    if (options_.wrong_only && verdict == Verdict::kAbove) return;
    if (options_.layers_only && verdict != Verdict::kWrongLayer) return;
    const Tag& tag = tagging.tags[row.node];
    const std::string_view source =
        kSourceNames[static_cast<std::size_t>(tag.source)];
    if (options_.nodes) {
      fmt::print("  {}#{} {} {} is {} got {} [{}]\n",
                 model.GraphPath(model[row.node].graph), model[row.node].index,
                 row.op, model[row.node].name, row.module, module, source);
    }
    ++misses_[fmt::format(
        "{}{:22} is {}  got {}  [{} {}]",
        tagging.modules.Find(row.module) == kNo<ModuleId> ? " " : "!", row.op,
        Generic(row.module), Generic(module), source,
        kConfidenceNames[static_cast<std::size_t>(tag.confidence)])];
  }

  // Each source twice: what it wins, and all that it says. Each rung twice:
  // what it wins, and what it would say of every node that parameters have not
  // placed, metadata and scopes hidden.
  struct RungScore {
    Score wins;
    Score alone;
  };

  void ScoreRungs(const Model& model, const std::vector<TruthRow>& rows) {
    const Strategy& strategy = FindStrategy("enhanced_semantic");
    const GraphFacts graph = GatherGraph(model);
    const Evidence evidence =
        GatherEvidence(graph, WantedBy(strategy, model, true, {}));
    const Placed none(model.node_count());
    Placed hidden(model.node_count());
    Placed placed(model.node_count());
    const Clues clues = ReadSources(evidence, strategy.set);
    for (std::size_t i = 0; i < AllSources().size(); ++i) {
      const auto from = static_cast<WriterId>(i);
      Clues own(model.node_count());
      ReadSource(evidence, from, own);
      if (from == WriterId::kParameter) AcceptClues(own, hidden);
      RungScore& score = ScoreFor(AllSources()[i].name);
      const std::vector<Claim> alone = ClaimsFrom(own, from);
      ScoreClaims(evidence, rows, alone, none, score.alone);
      std::vector<Claim> wins;
      for (const Clue& clue : clues.From(from)) {
        if (clues.Strongest(clue.node) == &clue) {
          wins.push_back(clues.AsClaim(clue));
        }
      }
      ScoreClaims(evidence, rows, wins, none, score.wins);
    }
    AcceptClues(clues, placed);
    for (const Rung& rung : strategy.rungs) {
      if (rung.name == kPlacementRung) continue;
      RungScore& score = ScoreFor(rung.name);
      ScoreClaims(evidence, rows, rung.Propose(evidence, hidden), none,
                  score.alone);
      const std::vector<Claim> claims = rung.Propose(evidence, placed);
      ScoreClaims(evidence, rows, claims, placed, score.wins);
      Climb(evidence, rung, placed);
    }
    nodes_with_truth_ += rows.size();
  }

  void ScoreClaims(const Evidence& evidence, const std::vector<TruthRow>& rows,
                   const std::vector<Claim>& claims, const Placed& placed,
                   Score& score) {
    IdVector<NodeId, const Claim*> first(evidence.model.node_count(), nullptr);
    for (const Claim& claim : claims) {
      if (!placed[claim.node].tagged() && first[claim.node] == nullptr)
        first[claim.node] = &claim;
    }
    for (const TruthRow& row : rows) {
      const Claim* claim = first[row.node];
      if (claim == nullptr) continue;
      ++score.rows;
      score.Add(Judge(evidence.modules.Path(claim->module), row),
                claim->confidence);
    }
  }

  static std::vector<Claim> ClaimsFrom(const Clues& clues, WriterId from) {
    std::vector<Claim> claims;
    for (const Clue& clue : clues.From(from)) {
      claims.push_back(clues.AsClaim(clue));
    }
    return claims;
  }

  RungScore& ScoreFor(std::string_view writer) {
    for (auto& [name, score] : rungs_) {
      if (name == writer) return score;
    }
    return rungs_.emplace_back(std::string(writer), RungScore()).second;
  }

  // The columns that the tables share: shares of nodes, then how many of each
  // level are exact.
  static std::vector<std::string> Cells(const Score& s) {
    return {Percent(s.rows - s.untagged, s.rows),
            Percent(s.exact, s.rows),
            Percent(s.above, s.rows),
            Percent(s.wrong, s.rows),
            Percent(s.layer, s.rows),
            Percent(s.level_exact[3], s.level_rows[3]),
            Percent(s.level_exact[2], s.level_rows[2]),
            Percent(s.level_exact[1], s.level_rows[1])};
  }

  static void Print(const std::string& name, const Score& s) {
    fmt::print("{:24} {:4} {:7}", name, s.files, s.rows);
    for (const std::string& cell : Cells(s)) fmt::print(" {:>6}", cell);
    fmt::print(" {:>6} {:>6} {:>6}\n",
               Percent(s.level_exact[3] + s.level_exact[2], s.exact),
               Percent(s.class_right, s.class_rows),
               Percent(s.role_right, s.role_modules));
  }

  void PrintTable() const {
    fmt::print(
        "{:24} {:>4} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} "
        "{:>6} {:>6} {:>6} {:>6}\n",
        "variant", "file", "nodes", "tagged", "exact", "above", "wrong",
        "layer!", "cert", "high", "med", "sure", "class", "role");
    for (const auto& [variant, score] : by_variant_) Print(variant, score);
    Print("all", all_);
    PrintWorst(misses_, options_.worst);
  }

  void PrintMarkdown() const {
    fmt::print(
        "| variant | files | nodes | tagged | exact | above | wrong | "
        "wrong layer | certain | high | medium | class | role path |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    const auto print = [](const std::string& name, const Score& s) {
      fmt::print("| {} | {} | {} |", name, s.files, s.rows);
      for (const std::string& cell : Cells(s)) fmt::print(" {} |", cell);
      fmt::print(" {} | {} |\n", Percent(s.class_right, s.class_rows),
                 Percent(s.role_right, s.role_modules));
    };
    for (const auto& [variant, score] : by_variant_) {
      print("`" + variant + "`", score);
    }
    print("all", all_);
    fmt::print(
        "\n| rung | places | exact | above | wrong layer | alone: "
        "claims | exact | above | wrong layer |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, s] : rungs_) {
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name,
                 Percent(s.wins.rows, nodes_with_truth_),
                 Percent(s.wins.exact, s.wins.rows),
                 Percent(s.wins.above, s.wins.rows),
                 Percent(s.wins.layer, s.wins.rows),
                 Percent(s.alone.rows, nodes_with_truth_),
                 Percent(s.alone.exact, s.alone.rows),
                 Percent(s.alone.above, s.alone.rows),
                 Percent(s.alone.layer, s.alone.rows));
    }
  }

  const Options& options_;
  const Floors floors_;
  std::map<std::string, Score> by_variant_;
  Score all_;
  Misses misses_;
  std::vector<std::pair<std::string, RungScore>> rungs_;
  std::uint64_t nodes_with_truth_ = 0;
};

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("accuracy TRUTH_DIR");
  line.Value("--model", options.model, "GLOB");
  line.Value("--variant", options.variant, "GLOB");
  line.Flag("--files", options.files);
  line.Number("--worst", options.worst);
  line.Flag("--wrong", options.wrong_only);
  line.Flag("--layers", options.layers_only);
  line.Flag("--nodes", options.nodes);
  line.Flag("--hierarchy", options.hierarchy);
  line.Flag("--trace", options.trace);
  line.Flag("--no-recipes", options.recipes, false);
  line.Flag("--placement", options.placement);
  line.Flag("--roles", options.roles);
  line.Flag("--markdown", options.markdown);
  line.Value("--floors", options.floors, "FILE");
  line.Value("--group", options.group, "GROUP");
  if (!line.Parse(argc, argv, options.truth)) return line.Usage();
  if (options.group.empty() && !options.floors.empty()) options.group = "known";
  return Accuracy(options).Run();
}
