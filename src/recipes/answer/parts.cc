#include "recipes/answer/parts.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "recipes/answer/match.h"
#include "recipes/answer/part_candidates.h"

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

}  // namespace onnx_tag::recipes
