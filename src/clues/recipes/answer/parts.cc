#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "base/lists.h"
#include "clues/recipes/align/candidates.h"
#include "clues/recipes/answer/match.h"
#include "clues/recipes/book/recipe.h"

namespace onnx_tag::recipes {
namespace {

constexpr std::size_t kPartCandidates = 5;
// Fewer common names may be a coincidence.
constexpr std::size_t kLeastNames = 3;
constexpr std::size_t kLeastSolidOfPart = 6;
// The maximum number of walks through the file.
constexpr std::size_t kMostLooks = 40;
// The maximum number of searches; each compares the summaries of all
// recipes.
constexpr std::size_t kMostSearches = 12;
// The maximum number of operations in all alignments with candidates.
constexpr std::size_t kMostSteps = 40'000;
// No recorded module is so deep. Each level copies the rest of every path.
constexpr std::size_t kDeepestPart = 24;
// The number of operations without a parameter before and after the part.
constexpr std::ptrdiff_t kMargin = 64;

using Tokens = std::vector<std::uint32_t>;

class PartFinder {
 public:
  PartFinder(const File& file, const Book& book, AtomTable& atoms)
      : file_(file),
        book_(book),
        atoms_(atoms),
        taken_(file.graph.tokens().size(), false) {}

  std::vector<BookAnswer> Run() {
    Tokens named;
    for (std::uint32_t i = 0; i < file_.anchors.size(); ++i) {
      if (!file_.anchors[i].empty()) named.push_back(i);
    }
    open_.push_back({Path(), std::move(named)});
    while (!open_.empty() && searches_ < kMostSearches && looks_ < kMostLooks) {
      const Module module = std::move(open_.front());
      open_.pop_front();
      if (!Try(module)) OpenChildren(module);
    }
    return std::move(answers_);
  }

 private:
  // A module of the file, and the tokens that use parameters below it.
  struct Module {
    Path path;
    Tokens tokens;
  };

  bool Try(const Module& module) {
    // It has a step for each of these tokens.
    if (steps_ + module.tokens.size() > kMostSteps) return false;
    FilePart part{module.path, {}};
    for (const std::uint32_t token : module.tokens) {
      part.names.insert(
          Generic(Rest(file_.anchors[token], module.path.size())));
    }
    // Layers are similar: if one did not fit, the others will not fit either.
    if (part.names.size() < kLeastNames ||
        std::find(failed_.begin(), failed_.end(), part.names) !=
            failed_.end()) {
      return false;
    }
    BookAnswer answer = Ask(module, part);
    if (answer.recipe.empty()) {
      failed_.push_back(std::move(part.names));
      return false;
    }
    Take(std::move(answer));
    return true;
  }

  BookAnswer Ask(const Module& module, const FilePart& part) {
    ++looks_;
    std::vector<bool> own(file_.anchors.size(), false);
    for (const std::uint32_t token : module.tokens) own[token] = true;
    std::vector<Step> steps = StepsOf(file_.steps[0], own);
    if (CountSolid(steps) < kLeastSolidOfPart ||
        steps_ + steps.size() > kMostSteps) {
      return {};
    }
    steps_ += steps.size();
    ++searches_;
    const File stretch = StretchOf(module, own, std::move(steps));
    return MatchPart(stretch,
                     RankParts(stretch, part, book_, atoms_, kPartCandidates),
                     atoms_);
  }

  void OpenChildren(const Module& module) {
    if (module.path.size() >= kDeepestPart) return;
    std::map<Atom, Tokens> children;
    for (const std::uint32_t token : module.tokens) {
      const Path& anchor = file_.anchors[token];
      if (anchor.size() > module.path.size()) {
        children[anchor[module.path.size()]].push_back(token);
      }
    }
    for (auto& [atom, tokens] : children) {
      if (tokens.size() < kLeastNames) continue;  // it cannot have more names
      open_.push_back({Join(module.path, {atom}), std::move(tokens)});
    }
  }

  // The file from the module's first parameter to its last, with the
  // surrounding operations that have no parameter.
  File StretchOf(const Module& module, const std::vector<bool>& own,
                 std::vector<Step> steps) const {
    File stretch{file_.graph, {}, file_.node_anchors, {}};
    stretch.old_activations = file_.old_activations;
    stretch.known = file_.known;
    stretch.is_part = true;
    stretch.anchors.resize(file_.anchors.size());
    for (const std::uint32_t token : module.tokens) {
      stretch.anchors[token] = file_.anchors[token];
    }
    stretch.steps[0] = std::move(steps);
    stretch.steps[1] = StepsOf(file_.steps[1], own);
    return stretch;
  }

  std::vector<Step> StepsOf(const std::vector<Step>& steps,
                            const std::vector<bool>& own) const {
    const auto is_own = [&](const Step& step) { return own[step.token]; };
    // It belongs to another module, or to a part that was found before.
    const auto is_foreign = [&](const Step& step) {
      return taken_[step.token] ||
             (!own[step.token] && !file_.anchors[step.token].empty());
    };
    const auto first = std::find_if(steps.begin(), steps.end(), is_own);
    const auto last = std::find_if(steps.rbegin(), steps.rend(), is_own).base();
    if (first >= last) return {};
    auto begin = first;
    while (begin != steps.begin() && first - begin < kMargin &&
           !is_foreign(*(begin - 1))) {
      --begin;
    }
    auto end = last;
    while (end != steps.end() && end - last < kMargin && !is_foreign(*end)) {
      ++end;
    }
    std::vector<Step> stretch;
    std::copy_if(begin, end, std::back_inserter(stretch),
                 [&](const Step& step) { return !is_foreign(step); });
    return stretch;
  }

  static std::size_t CountSolid(const std::vector<Step>& steps) {
    return static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(),
                      [](const Step& step) { return step.solid; }));
  }

  void Take(BookAnswer answer) {
    std::erase_if(answer.nodes, [&](const NodeAnswer& node) {
      return !placed_.insert(node.node).second;
    });
    for (const NodeAnswer& node : answer.nodes) {
      const std::uint32_t token = file_.graph.token_of()[node.node];
      if (token != kNone) taken_[token] = true;
    }
    answers_.push_back(std::move(answer));
  }

  const File& file_;
  const Book& book_;
  AtomTable& atoms_;
  std::deque<Module> open_;
  std::size_t looks_ = 0;
  std::size_t searches_ = 0;
  std::size_t steps_ = 0;        // of the searches so far
  std::vector<PathSet> failed_;  // one for each look at most
  std::vector<bool> taken_;      // by token
  std::set<NodeId> placed_;
  std::vector<BookAnswer> answers_;
};

}  // namespace

std::vector<BookAnswer> MatchParts(const File& file, const Book& book,
                                   AtomTable& atoms) {
  return PartFinder(file, book, atoms).Run();
}

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
           FactsOf(Label(token)).solid && at != kNone;
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
    Recipe recipe = book.Read(index);
    const RecordedPaths paths(recipe, atoms);
    const auto found = ModuleFinder(recipe, paths).Best(part.names);
    if (found.module == kNone || found.names <= 0) continue;
    auto& candidate = candidates.emplace_back(std::make_unique<Candidate>(
        std::move(recipe), atoms, relus_folded, found.module));
    candidate->grams = Share(CommonCount(mine.grams, book.Summary(index).grams),
                             mine.grams.size());
    candidate->names = found.names;
    candidate->file_prefix = part.prefix;
  }
  SortBy(candidates,
         [](const auto& one) { return -(one->names + one->grams); });
  if (candidates.size() > limit) candidates.resize(limit);
  return candidates;
}

}  // namespace onnx_tag::recipes
