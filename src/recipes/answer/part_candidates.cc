#include "recipes/answer/part_candidates.h"

#include <algorithm>
#include <unordered_map>

#include "recipes/align/overlap.h"
#include "recipes/book/cut_out.h"
#include "recipes/book/summary.h"

namespace onnx_tag::recipes {
namespace {

// The number of recipes that are read and searched for the module.
constexpr std::size_t kPartShortList = 16;
// With fewer products, convolutions and norms, a module would fit anywhere.
constexpr std::size_t kLeastSolidBelow = 4;

// The summary of the labels, and of names whose last two atoms are in the part.
Summary SummaryOf(const File& file, const FilePart& part) {
  std::vector<std::string_view> labels;
  std::vector<std::string_view> paths;
  for (const Step& step : file.steps[0]) {
    const Token& token = file.graph.tokens()[step.token];
    labels.emplace_back(token.label);
    if (file.anchors[step.token].size() >= part.prefix.size() + 2) {
      paths.push_back(token.anchor);
    }
  }
  return Summarize(labels, paths);
}

// Finds the module of a recipe whose names are most similar to the part's.
class ModuleFinder {
 public:
  ModuleFinder(const Recipe& recipe, const RecordedPaths& paths)
      : recipe_(recipe), paths_(paths), below_(recipe.modules.size()) {
    for (const RecordedToken& token : recipe.tokens) {
      Add(token.module, false);
      Add(token.anchor, true);
      for (std::uint32_t at = token.module;
           IsSolid(Label(token)) && at != kNone;
           at = recipe.modules[at].parent) {
        ++below_[at].solid;
      }
    }
  }

  struct Found {
    std::uint32_t module = kNone;
    double names = 0;
  };

  Found Best(const PathSet& names) const {
    Found best;
    for (std::uint32_t i = 0; i < below_.size(); ++i) {
      if (below_[i].solid < kLeastSolidBelow) continue;
      const double score = Compare(names, below_[i]);
      if (best.module == kNone || score > best.names) best = {i, score};
    }
    return best;
  }

 private:
  struct Below {
    std::size_t solid = 0;
    // Generic paths below the module; true: a parameter kept its name.
    std::unordered_map<Path, bool, PathHash> names;
  };

  std::string_view Label(const RecordedToken& token) const {
    return recipe_.texts[token.label];
  }

  // Adds the module to all its ancestors.
  void Add(std::uint32_t module, bool visible) {
    if (module == kNone) return;
    const Path& path = *paths_.generic(module);
    std::size_t depth = path.size();
    for (std::uint32_t at = module; at != kNone;
         at = recipe_.modules[at].parent) {
      bool& seen = below_[at].names[Rest(path, depth)];
      seen = seen || visible;
      if (depth > 0) --depth;
    }
  }

  static double Compare(const PathSet& here, const Below& below) {
    // Over what was recorded: the file may have any number of names.
    std::size_t known = 0;
    std::size_t unseen = 0;
    for (const auto& [name, visible] : below.names) {
      if (here.contains(name)) {
        ++known;
      } else if (visible) {
        ++unseen;
      }
    }
    const auto all = static_cast<double>(here.size());
    return (static_cast<double>(known) -
            0.5 * (all - static_cast<double>(known)) -
            0.25 * static_cast<double>(unseen)) /
           all;
  }

  const Recipe& recipe_;
  const RecordedPaths& paths_;
  std::vector<Below> below_;
};

}  // namespace

Candidates RankParts(const File& file, const FilePart& part, const Book& book,
                     AtomTable& atoms, std::size_t limit) {
  const Summary mine = SummaryOf(file, part);
  const bool relus_folded = file.graph.relus_folded();
  std::vector<double> scores;
  for (std::size_t i = 0; i < book.size(); ++i) {
    const SummaryView other = book.Summary(i);
    scores.push_back(
        Share(CommonCount(mine.grams, other.grams), mine.grams.size()) +
        Share(CommonCount(mine.names, other.names), mine.names.size()));
  }
  Candidates candidates;
  for (const std::size_t index : HighestOf(scores, kPartShortList)) {
    const Recipe recipe = book.Read(index);
    const RecordedPaths paths(recipe, atoms);
    const auto found = ModuleFinder(recipe, paths).Best(part.names);
    if (found.module == kNone || found.names <= 0) continue;
    auto& candidate = candidates.emplace_back(std::make_unique<Candidate>(
        CutOut(recipe, found.module), atoms, relus_folded));
    candidate->grams = Share(CommonCount(mine.grams, book.Summary(index).grams),
                             mine.grams.size());
    candidate->names = found.names;
    candidate->file_prefix = part.prefix;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) {
                     return a->names + a->grams > b->names + b->grams;
                   });
  if (candidates.size() > limit) candidates.resize(limit);
  return candidates;
}

}  // namespace onnx_tag::recipes
