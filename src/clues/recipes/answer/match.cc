#include "clues/recipes/answer/match.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "clues/recipes/book/recipe.h"
#include "clues/recipes/tokens/path.h"

namespace onnx_tag::recipes {
namespace {

constexpr std::size_t kCandidates = 8;
// An alignment of so many tokens takes about 0.1 s.
constexpr std::size_t kLargeFile = 20000;
constexpr std::size_t kCandidatesOfLarge = 3;
// So many steps in the middle of a file with four times as many are aligned
// first. The lists of a recipe repeat, so a recipe that fits the file fits its
// middle.
constexpr std::size_t kMiddle = 1000;
constexpr double kMiddleFit = 0.3;
// The minimum fit to use the names of a recipe (with and without agreeing
// names), and to use only its roles.
constexpr double kReplayFit = 0.72;
constexpr double kNamelessFit = 0.9;
constexpr double kNamedFit = 0.57;
constexpr double kNamesAgree = 0.65;
constexpr double kNamesOverlap = 0.2;
// To use roles, at least this share of operations must have names.
constexpr double kNamedForRoles = 0.3;
constexpr double kRolesFit = 0.6;
// With a smaller fit, a part makes no claims about tokens between aligned
// operations. The roles of the whole file may place them.
constexpr double kGoodPartFit = 0.9;
// With this fit, no other recipe is likely to be better.
constexpr double kFitOfSame = 0.97;
constexpr double kNearRank = 0.05;
// The minimum fit of other recipes of the same family, for side nodes.
constexpr double kSidesFit = 0.9;
// Recipes whose score differs by at most this share may vote.
constexpr double kTie = 0.01;

bool HasFewNames(const File& file) {
  constexpr std::size_t kFew = 4;
  PathSet generic;
  for (const Path& path : file.anchors) {
    if (path.empty()) continue;
    generic.insert(Generic(path));
    if (generic.size() == kFew) return false;
  }
  return true;
}

// Whether the file is a purely convolutional network. Such networks look alike.
bool IsConvolutional(const File& file) {
  std::size_t solid = 0;
  std::size_t convolutions = 0;
  for (const Step& step : file.steps[0]) {
    solid += step.solid;
    convolutions += step.convolution || step.batch_norm;
  }
  return 2 * convolutions > solid;
}

// The share of operations with a weight whose parameter has a name.
double NamedShare(const File& file) {
  std::size_t solid = 0;
  std::size_t named = 0;
  for (const Step& step : file.steps[0]) {
    solid += step.solid;
    named += step.solid && !file.anchors[step.token].empty();
  }
  return Share(named, solid);
}

// The number of tokens whose parameter has a name.
std::size_t CountAnchors(const File& file) {
  return static_cast<std::size_t>(
      std::count_if(file.anchors.begin(), file.anchors.end(),
                    [](const Path& path) { return !path.empty(); }));
}

// The answers of recipes that fit equally well: the majority's, without one
// the common ancestor. Sets `tied`, by token, if two differ.
Replayed Vote(const std::vector<Replayed>& votes, std::vector<bool>& tied) {
  Replayed decided = votes.front();
  tied.assign(decided.tokens.size(), false);
  for (std::size_t i = 0; i < decided.tokens.size(); ++i) {
    std::map<Path, std::size_t> counts;
    std::size_t all = 0;
    for (const Replayed& vote : votes) {
      if (!vote.tokens[i].path) continue;
      ++counts[*vote.tokens[i].path];
      ++all;
    }
    if (all == 0) continue;
    tied[i] = counts.size() > 1;
    Path common = counts.begin()->first;
    for (const auto& [path, count] : counts) {
      common.resize(CommonLength(common, path));
    }
    decided.tokens[i] = {std::move(common), Confidence::kHigh, kRunsIt, true};
    for (const Replayed& vote : votes) {
      const auto& path = vote.tokens[i].path;
      if (!path || 2 * counts.at(*path) <= all) continue;
      decided.tokens[i] = vote.tokens[i];
      break;
    }
  }
  for (const Replayed& vote : votes) {
    decided.sides.insert(vote.sides.begin(), vote.sides.end());
  }
  for (auto& [node, answer] : decided.sides) {
    std::map<Path, std::size_t> counts;
    for (const Replayed& vote : votes) {
      const auto at = vote.sides.find(node);
      if (at != vote.sides.end()) ++counts[*at->second.path];
    }
    std::size_t most = counts[*answer.path];
    for (const auto& [path, count] : counts) {
      if (count <= most) continue;
      most = count;
      answer.path = path;
    }
  }
  return decided;
}

// The recorded classes of the modules of a file.
// If `layer.1` was recorded and all layers of the recipe have the same
// class, `layer.7` has it, too.
class RecordedClasses {
 public:
  // The best recipe first; `candidate` must outlive this.
  void Add(const Candidate& candidate);

  // The best recipe's class, then those of others; empty: not known.
  std::vector<std::string_view> Of(const Path& path) const;

 private:
  struct Known {
    std::unordered_map<Path, std::string_view, PathHash> exact;
    // "" if the items of a list differ.
    std::unordered_map<Path, std::string_view, PathHash> generic;
  };
  std::vector<Known> known_;
};

void RecordedClasses::Add(const Candidate& candidate) {
  Known& known = known_.emplace_back();
  const Recipe& recipe = candidate.recipe;
  for (std::uint32_t i = 0; i < recipe.modules.size(); ++i) {
    const std::string_view name = recipe.texts[recipe.modules[i].class_name];
    if (name.empty()) continue;
    const Path* const recorded = candidate.paths.of(i);
    const auto path = recorded ? ToFile(candidate, *recorded) : std::nullopt;
    if (!path) continue;
    known.exact.try_emplace(*path, name);
    const auto [at, added] = known.generic.try_emplace(Generic(*path), name);
    if (!added && at->second != name) at->second = {};
  }
}

std::vector<std::string_view> RecordedClasses::Of(const Path& path) const {
  std::vector<std::string_view> names;
  for (const Known& known : known_) {
    std::string_view name;
    if (const auto at = known.generic.find(Generic(path));
        at != known.generic.end()) {
      name = at->second;
    }
    if (name.empty()) {
      const auto at = known.exact.find(path);
      if (at != known.exact.end()) name = at->second;
    }
    if (!name.empty() &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

class Matcher {
 public:
  Matcher(const File& file, AtomTable& atoms)
      : file_(file), atoms_(atoms), few_names_(HasFewNames(file)) {}

  BookAnswer Whole(const Book& book) {
    if (file_.steps[0].empty() || book.size() == 0) return {};
    candidates_ = RankByNames(file_.graph, file_.anchors, book, atoms_);
    AlignCandidates(file_.graph.tokens().size() > kLargeFile
                        ? kCandidatesOfLarge
                        : kCandidates);
    if (matches_.empty()) return {};
    if (Fits(matches_.front())) return ReplayBest();
    BookAnswer answer;
    answer.nearest = NameOf(*matches_.front().candidate);
    answer.nearest_fit = matches_.front().fit;
    return answer;
  }

  BookAnswer Roles(const Book& book) {
    if (file_.steps[0].empty() || NamedShare(file_) < kNamedForRoles) return {};
    return TransferBest(book);
  }

  BookAnswer Part(Candidates candidates) {
    candidates_ = std::move(candidates);
    AlignCandidates(candidates_.size());
    return !matches_.empty() && Fits(matches_.front()) ? ReplayBest()
                                                       : BookAnswer();
  }

 private:
  bool Fits(const Match& match) const { return match.fit >= LeastFit(match); }

  // If names contradict a recipe, it is not used at all.
  double LeastFit(const Match& match) const {
    // A stage of convolutions can occur in any network.
    if (file_.is_part && IsConvolutional(file_)) return kNamelessFit;
    // If only `fc` has a name, it agrees with half of the book.
    if (few_names_) return IsConvolutional(file_) ? kNamelessFit : kReplayFit;
    if (match.candidate->names >= kNamesAgree) return kNamedFit;
    return match.candidate->names >= kNamesOverlap ? kReplayFit : 2.0;
  }

  // Aligns the first recipes that may fit; sorted by score, the best first.
  void AlignCandidates(std::size_t limit) {
    double enough = -1e9;
    double names = 1e9;
    for (std::size_t i = 0; i < std::min(limit, candidates_.size()); ++i) {
      const auto& candidate = candidates_[i];
      const double rank = candidate->names + candidate->grams;
      // Label trigrams depend on the order of the file; names do not.
      if (rank < enough && candidate->names <= names) continue;
      AlignOne(*candidate, true, matches_);
      if (!matches_.empty() && matches_.back().fit >= kFitOfSame) {
        enough = std::max(enough, rank - kNearRank);
        names = matches_.back().candidate->names;
      }
    }
    SortByScore(matches_);
    std::stable_partition(matches_.begin(), matches_.end(),
                          [&](const Match& match) { return Fits(match); });
  }

  // If scores are equal, the simpler model is more likely.
  void SortByScore(std::vector<Match>& matches) const {
    const auto modules = [](const Match& match) {
      return match.candidate->recipe.modules.size();
    };
    std::stable_sort(matches.begin(), matches.end(),
                     [&](const Match& a, const Match& b) {
                       return Worth(a) != Worth(b) ? Worth(a) > Worth(b)
                                                   : modules(a) < modules(b);
                     });
  }

  // Without names, a recipe with additional operations gets a lower value, and
  // so does one that the file contradicts.
  double Worth(const Match& match) const {
    constexpr double kOtherThings = 0.1;
    constexpr double kContradicted = 0.1;
    const auto score = static_cast<double>(match.alignment.score);
    if (!few_names_) return score;
    const double fits = match.candidate->contradicted ? 1 - kContradicted : 1;
    return score * fits * (1 - kOtherThings * (1 - match.candidate->grams));
  }

  Query MakeQuery(std::span<const Step> steps,
                  const std::vector<const Path*>& anchor) const {
    Query query{{steps.begin(), steps.end()}, {}, file_.is_part};
    for (const Step& step : steps) query.anchor.push_back(anchor[step.token]);
    return query;
  }

  static double Fit(std::int64_t score, std::int64_t ideal) {
    return static_cast<double>(score) /
           static_cast<double>(std::max<std::int64_t>(1, ideal));
  }

  // Whether the recipe may fit a file with many steps.
  bool FitsMiddle(std::span<const Step> steps,
                  const std::vector<const Path*>& anchor,
                  const Program& program) const {
    Query query =
        MakeQuery(steps.subspan((steps.size() - kMiddle) / 2, kMiddle), anchor);
    query.free_ends = true;
    return Fit(Align(query, program).score,
               IdealScore(query, {0, kMiddle}, 0)) >= kMiddleFit;
  }

  // Aligns in both orders and keeps the better one.
  void AlignOne(Candidate& candidate, bool by_names,
                std::vector<Match>& matches) {
    if (!CanAlign(file_.steps[0].size(),
                  candidate.ProgramIn(Order::kFile).steps.size())) {
      return;
    }
    std::deque<Path> paths;
    std::vector<const Path*> anchor(file_.anchors.size(), nullptr);
    for (std::size_t i = 0; by_names && i < anchor.size(); ++i) {
      if (file_.anchors[i].empty()) continue;
      auto path = ToRecipe(candidate, file_.anchors[i]);
      if (path) anchor[i] = &paths.emplace_back(std::move(*path));
    }
    std::optional<Match> best;
    for (const Order order : {Order::kFile, Order::kDepthFirst}) {
      const Program& program = candidate.ProgramIn(order);
      const std::vector<Step>& steps = file_.StepsIn(order);
      if (steps.size() > 4 * kMiddle && !FitsMiddle(steps, anchor, program)) {
        continue;
      }
      const Query query = MakeQuery(steps, anchor);
      Match match{&candidate, order, Align(query, program), 0};
      const std::int64_t ideal = IdealScore(query, match.alignment.stretch,
                                            by_names ? CountAnchors(file_) : 0);
      match.fit = Fit(match.alignment.score, ideal);
      if (!best || match.alignment.score > best->alignment.score) {
        best = std::move(match);
      }
      // The other order cannot be much better.
      if (best->fit >= kFitOfSame) break;
    }
    if (best) matches.push_back(std::move(*best));
  }

  BookAnswer ReplayBest() {
    const Match& best = matches_.front();
    std::vector<Replayed> votes;
    PathSet owners = {Path()};
    for (const Match& match : matches_) {
      if (!IsTied(match)) continue;
      votes.push_back(Replay(file_, match));
      classes_.Add(*match.candidate);
      AddOwners(*match.candidate, owners);
    }
    std::vector<bool> tied;
    Replayed decided = Vote(votes, tied);
    AddSides(decided);
    for (std::size_t i = 0; i < decided.tokens.size(); ++i) {
      if (!decided.tokens[i].path && !file_.anchors[i].empty()) {
        decided.tokens[i] = {file_.anchors[i], Confidence::kCertain, kRunsIt};
      }
    }
    FillTokens(file_, owners, decided.tokens);
    if (file_.is_part) ForgetOutside(best, decided.tokens);
    return Report(best, SpreadToNodes(file_, decided.tokens, decided), tied,
                  false);
  }

  // Removes the answers before and after a part.
  void ForgetOutside(const Match& match, std::vector<Answer>& tokens) const {
    const auto& steps = file_.StepsIn(match.order);
    std::vector<bool> inside(tokens.size(), false);
    const Stretch& stretch = match.alignment.stretch;
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      inside[steps[i].token] = true;
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool vague =
          tokens[i].confidence == Confidence::kLow && match.fit < kGoodPartFit;
      if (!inside[i] || vague) tokens[i] = {};
    }
  }

  bool IsTied(const Match& match) const {
    const double best = Worth(matches_.front());
    return Worth(match) > best - std::max<double>(kUnit, kTie * best);
  }

  // If this file computes shapes that are constants in the best recipe, or
  // the other way round, another recipe of the family may have them.
  void AddSides(Replayed& decided) {
    constexpr std::size_t kMostAsked = 3;
    const std::string& family = matches_.front().candidate->family;
    std::vector<Match> others;
    for (const auto& candidate : candidates_) {
      if (others.size() == kMostAsked || HasAllSides(decided)) break;
      if (candidate->family != family || IsAsked(*candidate)) continue;
      AlignOne(*candidate, true, others);
      if (others.empty() || others.back().fit < kSidesFit) continue;
      decided.sides.merge(Replay(file_, others.back()).sides);
    }
  }

  bool IsAsked(const Candidate& candidate) const {
    return std::any_of(
        matches_.begin(), matches_.end(),
        [&](const Match& match) { return match.candidate == &candidate; });
  }

  // Constants belong to their consumers.
  bool HasAllSides(const Replayed& replayed) const {
    const DataFlow& flow = file_.graph.flow();
    return std::all_of(flow.Order().begin(), flow.Order().end(),
                       [&](NodeId node) {
                         return flow.IsData(node) || flow.IsTransparent(node) ||
                                flow.facts().ops[node] == Op::kConstant ||
                                replayed.sides.contains(node);
                       });
  }

  static void AddOwners(const Candidate& candidate, PathSet& owners) {
    const Recipe& recipe = candidate.recipe;
    const auto add = [&](std::uint32_t module) {
      const Path* const recorded = candidate.paths.of(module);
      if (recorded == nullptr) return;
      const auto path = ToFile(candidate, *recorded);
      if (path) owners.insert(Generic(*path));
    };
    for (const RecordedToken& token : recipe.tokens) add(token.module);
    for (const SideNode& side : recipe.side_nodes) add(side.module);
  }

  // The names do not fit; tries only the structure.
  BookAnswer TransferBest(const Book& book) {
    const Candidates near = RankByNames(file_.graph, {}, book, atoms_);
    std::vector<Match> matches;
    for (std::size_t i = 0; i < std::min(kCandidates, near.size()); ++i) {
      AlignOne(*near[i], false, matches);
    }
    if (matches.empty()) return {};
    const Match& best = *std::max_element(
        matches.begin(), matches.end(),
        [](const Match& a, const Match& b) { return a.fit < b.fit; });
    if (best.fit < kRolesFit) return {};
    const std::vector<Answer> roles = TransferRoles(file_, best);
    IdVector<NodeId, Answer> answers(file_.graph.flow().model().node_count());
    for (std::size_t i = 0; i < roles.size(); ++i) {
      const Token& token = file_.graph.tokens()[i];
      if (token.is_echo) continue;
      for (const NodeId node : token.nodes) answers[node] = roles[i];
    }
    return Report(best, answers, std::vector<bool>(roles.size(), false), true);
  }

  static std::string NameOf(const Candidate& candidate) {
    return fmt::format("{} ({})", candidate.family, candidate.recipe.exporter);
  }

  // Exports keep the names of norms. If a file names its norms, but none of a
  // recorded module's, that module is not in it: no decoder in a classifier on
  // top of an encoder.
  void RemoveAbsent(const Candidate& candidate,
                    IdVector<NodeId, Answer>& answers) const {
    const auto is_norm = [](std::string_view label) {
      return label == "LN" || label == "RMS";
    };
    const std::vector<Token>& tokens = file_.graph.tokens();
    if (std::none_of(tokens.begin(), tokens.end(), [&](const Token& token) {
          return is_norm(token.label) && !token.anchor.empty();
        })) {
      return;
    }
    PathSet normed;  // recorded modules with norms below them
    for (const RecordedToken& token : candidate.recipe.tokens) {
      const Path* const anchor = candidate.paths.of(token.anchor);
      if (anchor == nullptr || !is_norm(candidate.recipe.texts[token.label])) {
        continue;
      }
      const auto path = ToFile(candidate, *anchor);
      for (std::size_t size = path ? path->size() : 0; size-- > 0;) {
        if (!normed.insert(First(*path, size)).second) break;
      }
    }
    for (Answer& answer : answers) {
      for (Path path = answer.path.value_or(Path());
           !path.empty() && !file_.known.contains(path); path.pop_back()) {
        if (!normed.contains(path)) continue;
        answer = {};
        break;
      }
    }
  }

  BookAnswer Report(const Match& best, IdVector<NodeId, Answer> answers,
                    const std::vector<bool>& tied, bool roles_only) const {
    RemoveAbsent(*best.candidate, answers);
    BookAnswer report;
    report.recipe = NameOf(*best.candidate);
    report.fit = best.fit;
    report.names = best.candidate->names;
    report.nameless =
        CountAnchors(file_) == 0 || (few_names_ && IsConvolutional(file_));
    report.roles_only = roles_only;
    report.one_of_many = best.candidate->recipe.plain_code;
    report.anchors = CountAnchors(file_);
    for (const Path& anchor : file_.anchors) {
      report.foreign +=
          !anchor.empty() && !StartsWith(anchor, best.candidate->file_prefix);
    }
    if (best.candidate->recipe.paddle_names) {
      report.beyond = CountBeyond(*best.candidate, answers);
    }
    for (const NodeId node : file_.graph.flow().Order()) {
      const Answer& answer = answers[node];
      if (!answer.path) continue;
      const std::uint32_t token = file_.graph.token_of()[node];
      const bool is_token = token != kNone;
      report.nodes.push_back(
          {node, atoms_.Text(*answer.path), answer.confidence, answer.because,
           answer.cut, is_token && tied[token],
           file_.known.contains(*answer.path), HasIndex(*answer.path),
           is_token && file_.graph.tokens()[token].is_activation});
    }
    NameClasses(answers, report);
    return report;
  }

  // The nodes in items that the recipe's lists lack.
  std::size_t CountBeyond(const Candidate& candidate,
                          const IdVector<NodeId, Answer>& answers) const {
    PathSet recorded;
    for (std::uint32_t i = 0; i < candidate.recipe.modules.size(); ++i) {
      const Path* const path = candidate.paths.of(i);
      if (path != nullptr) recorded.insert(*path);
    }
    std::size_t count = 0;
    for (const NodeId node : file_.graph.flow().Order()) {
      if (!answers[node].path) continue;
      const auto path = ToRecipe(candidate, *answers[node].path);
      count += path && !recorded.contains(*path);
    }
    return count;
  }

  void NameClasses(const IdVector<NodeId, Answer>& answers,
                   BookAnswer& report) const {
    PathSet seen;
    for (const NodeId node : file_.graph.flow().Order()) {
      if (!answers[node].path) continue;
      const Path& path = *answers[node].path;
      // From the module up: the ancestors of a known module are known, too.
      for (std::size_t size = path.size() + 1; size-- > 0;) {
        const Path part = First(path, size);
        if (!seen.insert(part).second) break;
        ModuleAnswer module{atoms_.Text(part), {}};
        for (const std::string_view name : classes_.Of(part)) {
          module.classes.emplace_back(name);
        }
        if (!module.classes.empty()) report.modules.push_back(module);
      }
    }
  }

  const File& file_;
  AtomTable& atoms_;
  bool few_names_;
  Candidates candidates_;
  std::vector<Match> matches_;
  RecordedClasses classes_;
};

}  // namespace

BookAnswer MatchWhole(const File& file, const Book& book, AtomTable& atoms) {
  return Matcher(file, atoms).Whole(book);
}

BookAnswer MatchRoles(const File& file, const Book& book, AtomTable& atoms) {
  return Matcher(file, atoms).Roles(book);
}

BookAnswer MatchPart(const File& file, Candidates candidates,
                     AtomTable& atoms) {
  return Matcher(file, atoms).Part(std::move(candidates));
}

}  // namespace onnx_tag::recipes
