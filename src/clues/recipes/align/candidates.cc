#include "clues/recipes/align/candidates.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/lists.h"
#include "core/graph/neighbours.h"

namespace onnx_tag::recipes {
namespace {

// The number of recipes that are read and ranked exactly.
constexpr std::size_t kShortList = 64;
// The same where names do not count.
constexpr std::size_t kByLabels = 8;

// The share of common elements (Jaccard index).
double Likeness(std::span<const std::uint32_t> a,
                std::span<const std::uint32_t> b) {
  const std::size_t both = CommonCount(a, b);
  return Share(both, a.size() + b.size() - both);
}

Summary SummaryOf(const TokenGraph& graph) {
  std::vector<std::string_view> labels;
  std::vector<std::string_view> paths;
  for (const Token& token : graph.tokens()) {
    labels.emplace_back(token.label);
    if (!token.anchor.empty()) paths.push_back(token.anchor);
  }
  return Summarize(labels, paths);
}

// The prefixes that half of the paths share. An export may have lost such a
// prefix, or a head may have added it. The empty prefix is always included.
std::vector<Path> Prefixes(const PathSet& paths) {
  std::map<Path, std::size_t> counts;
  for (const Path& path : paths) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{2}}) {
      if (path.size() > length) ++counts[First(path, length)];
    }
  }
  std::vector<Path> prefixes = {Path()};
  for (const auto& [prefix, count] : counts) {
    if (2 * count >= paths.size() && !HasIndex(prefix)) {
      prefixes.push_back(prefix);
    }
  }
  return prefixes;
}

PathSet PathsBelow(const PathSet& paths, const Path& prefix) {
  PathSet below;
  for (const Path& path : paths) {
    if (StartsWith(path, prefix)) below.insert(Rest(path, prefix.size()));
  }
  return below;
}

// The file's generic anchors, and how many are below each of their prefixes.
// There may be as many as the file has nodes.
struct FileNames {
  struct Part {
    Path prefix;
    std::size_t size;
  };
  PathSet all;
  std::vector<Part> parts;
};

FileNames FileNamesOf(const std::vector<Path>& anchors) {
  FileNames names;
  for (const Path& anchor : anchors) {
    if (!anchor.empty()) names.all.insert(Generic(anchor));
  }
  for (Path& prefix : Prefixes(names.all)) {
    const auto size = static_cast<std::size_t>(std::count_if(
        names.all.begin(), names.all.end(),
        [&](const Path& path) { return StartsWith(path, prefix); }));
    names.parts.push_back({std::move(prefix), size});
  }
  return names;
}

// How many of `recorded` the file has below the prefix.
std::size_t CountIn(const FileNames& file, const Path& prefix,
                    const PathSet& recorded) {
  return static_cast<std::size_t>(std::count_if(
      recorded.begin(), recorded.end(),
      [&](const Path& path) { return file.all.contains(Join(prefix, path)); }));
}

struct Names {
  PathSet all;      // modules that run something
  PathSet visible;  // whose parameters kept their names
};

Names NamesOf(const Candidate& candidate) {
  Names names;
  for (const RecordedToken& token : candidate.recipe.tokens) {
    if (token.module != kNone) {
      names.all.insert(*candidate.paths.generic(token.module));
    }
    if (token.anchor != kNone) {
      names.visible.insert(*candidate.paths.generic(token.anchor));
    }
  }
  return names;
}

// Sets the candidate's `names` and prefixes for those of the file.
void CompareNames(const FileNames& file, Candidate& candidate) {
  // A file without names cannot be recognised as a part.
  const std::size_t size = file.all.size();
  if (size == 0) return;
  const Names recorded = NamesOf(candidate);
  const std::vector<Path> recorded_prefixes = Prefixes(recorded.visible);
  bool first = true;
  for (const auto& [ours, here] : file.parts) {
    for (const Path& theirs : recorded_prefixes) {
      if (!ours.empty() && ours == theirs) continue;
      const PathSet all = PathsBelow(recorded.all, theirs);
      const std::size_t known = CountIn(file, ours, all);
      const PathSet visible = PathsBelow(recorded.visible, theirs);
      const std::size_t unseen = visible.size() - CountIn(file, ours, visible);
      double score = static_cast<double>(known) -
                     0.5 * static_cast<double>(here - known) -
                     0.25 * static_cast<double>(unseen) -
                     0.6 * static_cast<double>(size - here) -
                     (ours.empty() ? 0.0 : 0.3) - (theirs.empty() ? 0.0 : 0.3);
      score /= static_cast<double>(size);
      if (!first && score <= candidate.names) continue;
      first = false;
      candidate.names = score;
      candidate.file_prefix = ours;
      candidate.recorded_prefix = theirs;
    }
  }
}

// A few recipes of each family first. Without names, forty ResNets of one
// library would hide the ResNet of another library.
void PutMixedFirst(Candidates& candidates) {
  constexpr std::size_t kOfFamily = 3;
  std::map<std::string_view, std::size_t> families;
  std::stable_partition(
      candidates.begin(), candidates.end(), [&](const auto& candidate) {
        return ++families[candidate->recipe.family] <= kOfFamily;
      });
}

// Whether an output of the recipe is made by an operation that makes one of
// the file.
bool EndsAlike(const TokenGraph& graph, const TokenSequence& recipe) {
  const std::vector<std::uint32_t> ours = graph.Outputs();
  return ours.empty() || recipe.outputs.empty() ||
         AnyIn(recipe.outputs, [&](std::uint32_t theirs) {
           return AnyIn(ours, [&](std::uint32_t output) {
             return graph.tokens()[output].label == recipe.labels[theirs];
           });
         });
}

// Whether two products of the file read one matrix: a module runs again.
bool SharesMatrices(const TokenGraph& graph) {
  constexpr int kLongest = 6;
  const Model& model = graph.flow().model();
  std::set<ValueId> seen;
  for (const Token& token : graph.tokens()) {
    if (token.is_echo ||
        !graph.flow().facts().ops.Is(token.main_node(), OpKind::kProduct)) {
      continue;
    }
    for (ValueId value : model.Inputs(token.main_node())) {
      for (int step = 0; step < kLongest && value != kNo<ValueId> &&
                         model.Producer(value) != kNo<NodeId>;
           ++step) {
        value = graph.flow().facts().data.IsConstant(value)
                    ? FirstInput(model, model.Producer(value))
                    : kNo<ValueId>;
      }
      const Initializer* const tensor =
          value == kNo<ValueId> ? nullptr : model.InitializerOf(value);
      if (tensor != nullptr && tensor->rank >= 2 && !tensor->uniform &&
          !seen.insert(value).second) {
        return true;
      }
    }
  }
  return false;
}

// Whether a module of the recipe runs its only operation twice.
bool RunsAgain(const Recipe& recipe) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  return AnyIn(recipe.tokens, [&](const RecordedToken& token) {
    const LabelFacts& facts = FactsOf(recipe.texts[token.label]);
    return token.module != kNone && facts.solid && facts.leaf &&
           !seen.emplace(token.module, token.label).second;
  });
}

// Ranks by names and labels. If these are equal (convolutional networks), the
// length decides. Without names, the outputs and shared weights tell similar
// models apart.
double Rank(const Candidate& candidate, const TokenGraph& graph,
            bool few_names) {
  constexpr double kLength = 0.04;
  constexpr double kContradicted = 0.1;
  const std::size_t recorded = candidate.recipe.tokens.size();
  const std::size_t here = graph.tokens().size();
  return candidate.names + candidate.grams +
         (few_names && candidate.contradicted ? -kContradicted : 0) +
         kLength * static_cast<double>(std::min(recorded, here)) /
             static_cast<double>(std::max({recorded, here, std::size_t{1}}));
}

TokenSequence MakeSequence(const Recipe& recipe, const RecordedPaths& paths,
                           std::uint32_t root, bool relus_folded) {
  TokenSequence sequence = SequenceOf(recipe);
  if (root != 0) sequence = Within(paths, recipe, std::move(sequence));
  return relus_folded ? WithoutRelus(std::move(sequence)) : sequence;
}

}  // namespace

Candidate::Candidate(Recipe read, AtomTable& atoms, bool relus_folded,
                     std::uint32_t root)
    : recipe(std::move(read)),
      family(root == 0 ? recipe.family
                       : recipe.family + "." + PathOf(recipe, root)),
      paths(recipe, atoms, root),
      sequence(MakeSequence(recipe, paths, root, relus_folded)) {}

const Program& Candidate::ProgramIn(Order order) {
  std::unique_ptr<Program>& program =
      programs_[static_cast<std::size_t>(order)];
  if (program == nullptr) {
    program =
        std::make_unique<Program>(MakeProgram(recipe, sequence, paths, order));
  }
  return *program;
}

std::optional<Path> ToFile(const Candidate& candidate, const Path& recorded) {
  const Path& theirs = candidate.recorded_prefix;
  if (StartsWith(recorded, theirs)) {
    return Join(candidate.file_prefix, Rest(recorded, theirs.size()));
  }
  // The file is only a part of the recorded model; a module above it is the
  // root.
  if (candidate.file_prefix.empty() && StartsWith(theirs, recorded)) {
    return Path();
  }
  return std::nullopt;
}

std::optional<Path> ToRecipe(const Candidate& candidate, const Path& path) {
  const Path& ours = candidate.file_prefix;
  if (!StartsWith(path, ours)) return std::nullopt;
  return Join(candidate.recorded_prefix, Rest(path, ours.size()));
}

bool IsActivationModule(const Recipe& recipe, std::uint32_t module) {
  return module != kNone &&
         recipe.texts[recipe.modules[module].class_name].ends_with(
             "Activation");
}

Candidates RankByNames(const TokenGraph& graph,
                       const std::vector<Path>& anchors, const Book& book,
                       AtomTable& atoms) {
  const bool by_labels = anchors.empty();
  Summary mine = SummaryOf(graph);
  if (by_labels) mine.names.clear();
  const bool relus_folded = graph.relus_folded();
  std::vector<double> scores;
  for (std::size_t i = 0; i < book.size(); ++i) {
    const SummaryView other = book.Summary(i);
    scores.push_back(
        Likeness(mine.grams, other.grams) +
        Share(CommonCount(mine.names, other.names), mine.names.size()));
  }
  const FileNames names = FileNamesOf(anchors);
  constexpr std::size_t kFew = 4;
  const bool few_names = names.all.size() < kFew;
  const bool shares = few_names && SharesMatrices(graph);
  Candidates candidates;
  for (const std::size_t index :
       HighestOf(scores, by_labels ? kByLabels : kShortList)) {
    auto& candidate = candidates.emplace_back(
        std::make_unique<Candidate>(book.Read(index), atoms, relus_folded));
    candidate->grams = Likeness(mine.grams, book.Summary(index).grams);
    candidate->contradicted = !EndsAlike(graph, candidate->sequence) ||
                              (shares && !RunsAgain(candidate->recipe));
    CompareNames(names, *candidate);
  }
  if (by_labels) return candidates;
  SortBy(candidates,
         [&](const auto& one) { return -Rank(*one, graph, few_names); });
  PutMixedFirst(candidates);
  return candidates;
}

std::size_t CommonCount(std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::size_t count = 0;
  // A recipe is short, and there are thousands. A file may be long: it is
  // searched, not walked.
  constexpr std::size_t kMuchLonger = 16;
  if (a.size() / kMuchLonger > b.size()) {
    for (const std::uint32_t hash : b) {
      count += std::binary_search(a.begin(), a.end(), hash);
    }
    return count;
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    count += a[i] == b[j];
    const bool step_a = a[i] <= b[j];
    const bool step_b = b[j] <= a[i];
    i += step_a;
    j += step_b;
  }
  return count;
}

double Share(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) /
         static_cast<double>(std::max<std::size_t>(1, whole));
}

std::vector<std::size_t> HighestOf(const std::vector<double>& scores,
                                   std::size_t limit) {
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  limit = std::min(limit, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(limit),
      order.end(), [&](std::size_t a, std::size_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
      });
  order.resize(limit);
  return order;
}

}  // namespace onnx_tag::recipes
