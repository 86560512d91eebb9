#include "recipes/match.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>

#include "recipes/candidates.h"
#include "recipes/fill.h"
#include "recipes/label_weight.h"
#include "recipes/old_code.h"
#include "recipes/recorded_classes.h"
#include "recipes/transfer.h"

namespace onnx_tag::recipes {
namespace {

constexpr std::size_t kCandidates = 8;
// Least fit for taking a recording's names, where names agree and where not,
// and for taking its roles only.
constexpr double kReplayFit = 0.72;
constexpr double kNamelessFit = 0.9;
constexpr double kNamedFit = 0.57;
constexpr double kNamesAgree = 0.65;
constexpr double kNamesOverlap = 0.2;
// Roles need names to be filled with.
constexpr double kNamedForRoles = 0.3;
constexpr double kRolesFit = 0.6;
// Less of the file aligned than this is no match, whatever it scores.
constexpr double kLeastAligned = 0.45;
// No other recording is likely to be better.
constexpr double kSameFit = 0.97;
constexpr double kNearRank = 0.05;
// Recordings that score as well, but for this share.
constexpr double kTie = 0.01;

class Matcher {
 public:
  Matcher(const TokenGraph& graph, const Book& book)
      : book_(book),
        file_{graph, {}, {}, {}, ActivationsAreFunctions(graph.flow()), {}} {
    for (const Token& token : graph.tokens()) {
      Path path = atoms_.Read(token.anchor);
      for (std::size_t k = 0; !path.empty() && k <= path.size(); ++k) {
        file_.known.insert(First(path, k));
      }
      file_.anchors.push_back(std::move(path));
    }
    file_.node_anchors.resize(graph.flow().model().node_count());
    for (const NodeId node : graph.flow().Order()) {
      if (!graph.anchors()[node].empty()) {
        file_.node_anchors[node] = atoms_.Read(graph.anchors()[node]);
      }
    }
    const Shape shape = ShapeOf(graph);
    file_.steps[0] = MakeSteps(shape, Order::kFile);
    file_.steps[1] = MakeSteps(shape, Order::kDepthFirst);
  }

  BookAnswer Run() {
    if (file_.steps[0].empty() || book_.size() == 0) return {};
    AlignCandidates();
    if (matches_.empty()) return {};
    const Match& best = matches_.front();
    if (best.fit >= LeastFit(best) && AlignedShare(best) >= kLeastAligned) {
      return ReplayBest();
    }
    BookAnswer answer =
        NamedShare() >= kNamedForRoles ? TransferBest() : BookAnswer();
    answer.nearest = NameOf(best.candidate->recording);
    answer.nearest_fit = best.fit;
    return answer;
  }

 private:
  // Names that contradict a recording's leave nothing to take from it.
  double LeastFit(const Match& match) const {
    // Where only `fc` is left, its name agrees with half of the book.
    if (HasFewNames()) return IsConvolutional() ? kNamelessFit : kReplayFit;
    if (match.candidate->names >= kNamesAgree) return kNamedFit;
    return match.candidate->names >= kNamesOverlap ? kReplayFit : 2.0;
  }

  bool HasFewNames() const {
    constexpr std::size_t kFew = 4;
    PathSet generic;
    for (const Path& path : file_.anchors) {
      if (!path.empty()) generic.insert(Generic(path));
    }
    return generic.size() < kFew;
  }

  // Networks of nothing but convolutions look all the same.
  bool IsConvolutional() const {
    std::size_t solid = 0;
    std::size_t convolutions = 0;
    for (const Step& step : file_.steps[0]) {
      solid += step.solid;
      convolutions += step.convolution || step.batch_norm;
    }
    return 2 * convolutions > solid;
  }

  // Of the operations that have a weight, those whose parameter has a name.
  double NamedShare() const {
    std::size_t solid = 0;
    std::size_t named = 0;
    for (const Step& step : file_.steps[0]) {
      solid += step.solid;
      named += step.solid && !file_.anchors[step.token].empty();
    }
    return static_cast<double>(named) /
           static_cast<double>(std::max<std::size_t>(1, solid));
  }

  // The recordings that may fit, by score; the best first.
  void AlignCandidates() {
    candidates_ =
        RankByNames(file_.graph, file_.anchors, book_, atoms_, kCandidates);
    double enough = -1e9;
    for (const auto& candidate : candidates_) {
      const double rank = candidate->names + candidate->grams;
      if (rank < enough) break;
      AlignOne(*candidate, true, matches_);
      if (!matches_.empty() && matches_.back().fit >= kSameFit) {
        enough = std::max(enough, rank - kNearRank);
      }
    }
    SortByScore(matches_);
  }

  static void SortByScore(std::vector<Match>& matches) {
    std::stable_sort(matches.begin(), matches.end(),
                     [](const Match& a, const Match& b) {
                       return a.alignment.score > b.alignment.score;
                     });
  }

  // In both orders; the better one is kept.
  void AlignOne(Candidate& candidate, bool by_names,
                std::vector<Match>& matches) {
    if (!CanAlign(file_.steps[0].size(), candidate.recording.tokens.size())) {
      return;
    }
    std::deque<Path> paths;
    std::vector<const Path*> anchor(file_.anchors.size(), nullptr);
    for (std::size_t i = 0; by_names && i < anchor.size(); ++i) {
      if (file_.anchors[i].empty()) continue;
      auto path = ToRecording(candidate, file_.anchors[i]);
      if (path) anchor[i] = &paths.emplace_back(std::move(*path));
    }
    std::optional<Match> best;
    for (const Order order : {Order::kFile, Order::kDepthFirst}) {
      Query query{file_.steps[static_cast<std::size_t>(order)], {}};
      for (const Step& step : query.steps) {
        query.anchor.push_back(anchor[step.token]);
      }
      const std::int64_t ideal =
          IdealScore(query, by_names ? CountAnchors() : 0);
      Match match{&candidate, order, Align(query, candidate.ProgramIn(order)),
                  0};
      match.fit = static_cast<double>(match.alignment.score) /
                  static_cast<double>(std::max<std::int64_t>(1, ideal));
      if (!best || match.alignment.score > best->alignment.score) {
        best = std::move(match);
      }
      // The other order cannot be much better.
      if (best->fit >= kSameFit) break;
    }
    matches.push_back(std::move(*best));
  }

  std::size_t CountAnchors() const {
    return static_cast<std::size_t>(
        std::count_if(file_.anchors.begin(), file_.anchors.end(),
                      [](const Path& path) { return !path.empty(); }));
  }

  double AlignedShare(const Match& match) const {
    const auto& steps = file_.steps[static_cast<std::size_t>(match.order)];
    double aligned = 0;
    double all = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double weight = steps[i].weight == Weight::kHeavy    ? 3.0
                            : steps[i].weight == Weight::kMiddle ? 1.0
                                                                 : 0.4;
      all += weight;
      if (match.alignment.match[i] != kNone) aligned += weight;
    }
    return aligned / all;
  }

  BookAnswer ReplayBest() {
    const Match& best = matches_.front();
    const double least =
        static_cast<double>(best.alignment.score) -
        std::max<double>(kUnit,
                         kTie * static_cast<double>(best.alignment.score));
    std::vector<Replayed> votes;
    PathSet owners = {Path()};
    for (const Match& match : matches_) {
      const bool tied = static_cast<double>(match.alignment.score) > least;
      if (tied) {
        votes.push_back(Replay(file_, match));
        classes_.Add(*match.candidate);
      }
      if (tied || match.candidate->recording.family ==
                      best.candidate->recording.family) {
        AddOwners(*match.candidate, owners);
      }
    }
    std::vector<bool> tied;
    Replayed decided = Decide(votes, tied);
    for (std::size_t i = 0; i < decided.tokens.size(); ++i) {
      if (!decided.tokens[i].path && !file_.anchors[i].empty()) {
        decided.tokens[i] = {file_.anchors[i], How::kReplay};
      }
    }
    FillTokens(file_, owners, decided.tokens);
    return Report(best, SpreadToNodes(file_, decided.tokens, decided), tied,
                  false);
  }

  static void AddOwners(const Candidate& candidate, PathSet& owners) {
    const Recording& recording = candidate.recording;
    const auto add = [&](std::uint32_t module) {
      if (module == kNone) return;
      const auto path = ToFile(candidate, *candidate.paths.of(module));
      if (path) owners.insert(Generic(*path));
    };
    for (const RecordedToken& token : recording.tokens) add(token.module);
    for (const SideNode& side : recording.side_nodes) add(side.module);
  }

  // Recordings that tie are polled.
  static Replayed Decide(const std::vector<Replayed>& votes,
                         std::vector<bool>& tied) {
    Replayed decided = votes.front();
    tied.assign(decided.tokens.size(), false);
    if (votes.size() == 1) return decided;
    for (std::size_t i = 0; i < decided.tokens.size(); ++i) {
      std::map<Path, std::size_t> counts;
      for (const Replayed& vote : votes) {
        if (vote.tokens[i].path) ++counts[*vote.tokens[i].path];
      }
      if (counts.empty()) continue;
      tied[i] = counts.size() > 1;
      std::size_t most = 0;
      std::size_t all = 0;
      for (const auto& [path, count] : counts) {
        most = std::max(most, count);
        all += count;
      }
      // No majority: what they agree on.
      if (2 * most <= all) {
        Path common = counts.begin()->first;
        for (const auto& [path, count] : counts) {
          common.resize(CommonLength(common, path));
        }
        decided.tokens[i] = {std::move(common), How::kLoose, true};
        continue;
      }
      for (const Replayed& vote : votes) {
        const Answer& answer = vote.tokens[i];
        if (!answer.path || counts[*answer.path] != most) continue;
        decided.tokens[i] = answer;
        break;
      }
    }
    for (std::size_t k = 1; k < votes.size(); ++k) {
      for (const auto& [node, path] : votes[k].sides) {
        decided.sides.try_emplace(node, path);
      }
    }
    for (auto& [node, path] : decided.sides) {
      std::map<Path, std::size_t> counts;
      for (const Replayed& vote : votes) {
        const auto at = vote.sides.find(node);
        if (at != vote.sides.end()) ++counts[at->second];
      }
      std::size_t most = counts[path];
      for (const auto& [other, count] : counts) {
        if (count <= most) continue;
        most = count;
        path = other;
      }
    }
    return decided;
  }

  // Names do not fit: structure alone may.
  BookAnswer TransferBest() {
    Candidates near = RankByLabels(file_.graph, book_, atoms_, kCandidates);
    std::vector<Match> matches;
    for (const auto& candidate : near) AlignOne(*candidate, false, matches);
    if (matches.empty()) return {};
    const Match& best = *std::max_element(
        matches.begin(), matches.end(),
        [](const Match& a, const Match& b) { return a.fit < b.fit; });
    if (best.fit < kRolesFit) return {};
    Replayed roles;
    roles.tokens = TransferRoles(file_, best);
    IdVector<NodeId, Answer> answers(file_.graph.flow().model().node_count());
    for (std::size_t i = 0; i < roles.tokens.size(); ++i) {
      for (const NodeId node : file_.graph.tokens()[i].nodes) {
        answers[node] = roles.tokens[i];
      }
    }
    return Report(best, answers, std::vector<bool>(roles.tokens.size(), false),
                  true);
  }

  static std::string NameOf(const Recording& recording) {
    return fmt::format("{} ({})", recording.family, recording.exporter);
  }

  BookAnswer Report(const Match& best, const IdVector<NodeId, Answer>& answers,
                    const std::vector<bool>& tied, bool roles_only) const {
    const Recording& recording = best.candidate->recording;
    BookAnswer report;
    report.recipe = NameOf(recording);
    report.fit = best.fit;
    report.names = best.candidate->names;
    report.nameless = HasFewNames() && IsConvolutional();
    report.roles_only = roles_only;
    report.anchors = CountAnchors();
    for (const NodeId node : file_.graph.flow().Order()) {
      const Answer& answer = answers[node];
      if (!answer.path) continue;
      const std::uint32_t token = file_.graph.token_of()[node];
      const bool is_token = token != kNone;
      report.nodes.push_back(
          {node, atoms_.Text(*answer.path), answer.how, answer.cut,
           is_token && tied[token], file_.known.contains(*answer.path),
           is_token && IsActivation(file_.graph.tokens()[token].label)});
    }
    NameClasses(answers, report);
    return report;
  }

  void NameClasses(const IdVector<NodeId, Answer>& answers,
                   BookAnswer& report) const {
    PathSet seen;
    for (const NodeId node : file_.graph.flow().Order()) {
      if (!answers[node].path) continue;
      const Path& path = *answers[node].path;
      // From the module up: what is above a known one is known, too.
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

  const Book& book_;
  AtomTable atoms_;
  File file_;
  Candidates candidates_;
  std::vector<Match> matches_;
  RecordedClasses classes_;
};

}  // namespace

BookAnswer AskBook(const TokenGraph& graph, const Book& book) {
  return Matcher(graph, book).Run();
}

}  // namespace onnx_tag::recipes
