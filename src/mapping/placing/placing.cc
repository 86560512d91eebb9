#include "mapping/placing/placing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/hash.h"
#include "base/lists.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/placing/words.h"

namespace onnx_tag::placing {
namespace {

constexpr std::uint64_t kThousand = 1000;

// "0.97 by placement", for each hundredth: claims hold views.
std::string_view ReasonOf(std::uint32_t permille) {
  static const auto kReasons = [] {
    std::array<std::string, 101> reasons;
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      reasons[i] = fmt::format("{}.{:02} by placement", i / 100, i % 100);
    }
    return reasons;
  }();
  return kReasons[std::min<std::uint32_t>(permille / 10, 100)];
}

class Placer {
 public:
  Placer(const Evidence& evidence, const IdVector<NodeId, Tag>& placed,
         const Network& network)
      : evidence_(evidence),
        tree_(evidence.modules),
        placed_(placed),
        network_(network),
        scene_(evidence, FindAnchors(evidence, placed)),
        generic_(tree_.size(), 0) {}

  // Without an anchor there is no candidate but the root.
  bool knows() const {
    return !scene_.has_open() || scene_.anchored_modules() > 0;
  }

  void Choose() {
    if (!scene_.has_open()) return;
    Reading reading(network_, scene_);
    if (reading.unlike() > kMostUnlike) {
      for (Position at = 0; at < scene_.size(); ++at) {
        if (scene_.IsOpen(at)) asked_.push_back({at, kNowhere, {}, {}});
      }
      return;
    }
    reading.MakeStates();
    NameGenerically();
    std::vector<Candidate> candidates;
    std::vector<float> scores;
    for (Position at = 0; at < scene_.size(); ++at) {
      if (!scene_.IsOpen(at)) continue;
      scene_.FindCandidates(at, candidates);
      reading.Score(at, candidates, scores);
      Asked& asked = asked_.emplace_back();
      asked.at = at;
      Weigh(candidates, scores, asked);
      Join(asked);
    }
  }

  Claims ClaimAll() {
    constexpr std::string_view kReads =
        "the parameters that it reads are of this module";
    Claims claims;
    std::vector<Claim> of_position(
        scene_.size(),
        {kNo<NodeId>, kNo<ModuleId>, Confidence::kLow, Source::kPlacement, {}});
    for (Position at = 0; at < scene_.size(); ++at) {
      of_position[at].module = scene_[at].anchor;
      of_position[at].confidence = Confidence::kMedium;
      of_position[at].because = "its reader is of this module";
      const NodeId node = scene_[at].node;
      if (scene_.IsOpen(at) || placed_[node].tagged()) continue;
      claims.push_back({node, scene_[at].anchor, Confidence::kMedium,
                        Source::kPlacement, kReads});
    }
    for (const Asked& asked : asked_) {
      const Answer answer = AnswerOf(asked);
      Claim& claim = of_position[asked.at];
      claim = {scene_[asked.at].node, answer.module, answer.level,
               Source::kPlacement,
               answer.best.empty() ? "the common module of its neighbours"
                                   : ReasonOf(answer.best[0].permille)};
      if (!placed_[claim.node].tagged()) claims.push_back(claim);
    }
    for (const auto& [node, position] : scene_.followers()) {
      if (placed_[node].tagged()) continue;
      Claim claim = position == kNowhere
                        ? Claim{node, ModuleTree::kRoot, Confidence::kLow,
                                Source::kPlacement, "nothing reads it"}
                        : of_position[position];
      claim.node = node;
      claims.push_back(claim);
    }
    SortBy(claims, &Claim::node);
    return claims;
  }

  Answer AnswerTo(NodeId node) const {
    for (const Asked& asked : asked_) {
      if (scene_[asked.at].node == node) return AnswerOf(asked);
    }
    return {};
  }

 private:
  // An open node: its candidates, and how probable each is.
  struct Asked {
    Position at = kNowhere;
    std::uint32_t group = kNowhere;
    std::vector<ModuleId> modules;
    std::vector<std::uint32_t> weights;  // 0: a law excludes it
  };

  // No two modules with the same path but for numbers have different ids here.
  void NameGenerically() {
    std::unordered_map<std::uint64_t, std::uint32_t> ids;
    for (std::size_t i = 1; i < tree_.size(); ++i) {
      const auto module = MakeId<ModuleId>(i);
      const std::string_view atom = tree_.Atom(module);
      const std::uint64_t hash =
          HashMix(generic_[tree_.Parent(module)],
                  hierarchy::IsNumeric(atom) ? 0 : 1 + HashWord(atom));
      generic_[module] =
          ids.emplace(hash, static_cast<std::uint32_t>(ids.size() + 1))
              .first->second;
    }
  }

  void Weigh(const std::vector<Candidate>& candidates,
             const std::vector<float>& scores, Asked& asked) const {
    const NodeId node = scene_[asked.at].node;
    std::vector<bool> may(candidates.size());
    float top = -1e30F;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const ModuleId module = candidates[i].module;
      asked.modules.push_back(module);
      may[i] = module == ModuleTree::kRoot ||
               (!evidence_.IsImpossible(module) &&
                !evidence_.IsContradicted(node, module));
      if (may[i]) top = std::max(top, scores[i]);
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      asked.weights.push_back(may[i] ? ExpOf(scores[i] - top) : 0);
      sum += asked.weights.back();
    }
    for (std::uint32_t& weight : asked.weights) {
      weight = static_cast<std::uint32_t>(weight * std::uint64_t{kOne} / sum);
    }
  }

  // Equal places of equal layers: the same but for the numbers in paths.
  void Join(Asked& asked) {
    const Position at = asked.at;
    const Actor& actor = scene_[at];
    std::uint64_t hash = HashMix(
        0, static_cast<std::uint64_t>(evidence_.model[actor.node].op_type));
    const auto add = [&](ModuleId module) {
      hash = HashMix(hash, module == kNo<ModuleId> ? 0 : 1 + generic_[module]);
    };
    for (const Position near : {scene_.Before(at), scene_.After(at)}) {
      add(near == kNowhere ? kNo<ModuleId> : scene_[near].anchor);
      hash = HashMix(hash, near == kNowhere ? 0
                           : near < at      ? at - near
                                            : near - at);
    }
    for (const auto& list :
         {scene_.Above(at), scene_.Below(at), asked.modules}) {
      for (const ModuleId module : list) add(module);
      hash = HashMix(hash, list.size());
    }
    const auto [found, is_new] =
        group_ids_.emplace(hash, static_cast<std::uint32_t>(groups_.size()));
    asked.group = found->second;
    if (is_new) groups_.emplace_back(asked.weights.size(), 0);
    std::vector<std::uint64_t>& sums = groups_[asked.group];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += asked.weights[i];
  }

  Answer AnswerOf(const Asked& asked) const {
    Answer answer;
    const Position at = asked.at;
    answer.makers = scene_.Above(at);
    answer.readers = scene_.Below(at);
    if (asked.group == kNowhere) {
      answer.module = Around(at);
      return answer;
    }
    std::vector<std::uint64_t> sums = groups_[asked.group];
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (asked.weights[i] == 0) sums[i] = 0;
      all += sums[i];
    }
    // The most general of equal ones.
    std::vector<std::size_t> order(sums.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(
        order.begin(), order.end(),
        [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    constexpr std::size_t kTold = 3;
    for (const std::size_t i : order) {
      if (answer.best.size() == kTold || sums[i] == 0) break;
      answer.best.push_back({asked.modules[i], static_cast<std::uint32_t>(
                                                   kThousand * sums[i] / all)});
    }
    const auto row =
        std::find_if(network_.levels().begin(), network_.levels().end(),
                     [&](const LevelRow& level) {
                       return answer.best[0].permille >= level.least;
                     });
    const bool measured = row != network_.levels().end();
    const auto may_be = [&](ModuleId module) {
      if (module == ModuleTree::kRoot) return true;
      std::uint64_t inside = 0;
      bool is_excluded = true;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (scene_.IsInside(asked.modules[i], module)) inside += sums[i];
        if (asked.modules[i] == module) is_excluded = asked.weights[i] == 0;
      }
      return !is_excluded &&
             (!measured || inside * kThousand >= row->climb * all);
    };
    answer.module = answer.best[0].module;
    while (!may_be(answer.module)) answer.module = tree_.Parent(answer.module);
    if (measured && scene_.anchored_modules() >= kFewModules) {
      answer.level = row->level;
    }
    return answer;
  }

  ModuleId Around(Position at) const {
    ModuleId module = kNo<ModuleId>;
    for (const Position near : {scene_.Before(at), scene_.After(at)}) {
      if (near != kNowhere) module = tree_.Join(module, scene_[near].anchor);
    }
    return module == kNo<ModuleId> ? ModuleTree::kRoot
                                   : evidence_.Callable(module);
  }

  const Evidence& evidence_;
  const ModuleTree& tree_;
  const IdVector<NodeId, Tag>& placed_;
  const Network& network_;
  const Scene scene_;
  IdVector<ModuleId, std::uint32_t> generic_;
  std::vector<Asked> asked_;
  std::unordered_map<std::uint64_t, std::uint32_t> group_ids_;
  std::vector<std::vector<std::uint64_t>> groups_;
};

}  // namespace

Claims Place(const Evidence& evidence, const IdVector<NodeId, Tag>& placed,
             const Network& network) {
  if (AllIn(placed, [](const Tag& tag) { return tag.tagged(); })) return {};
  Placer placer(evidence, placed, network);
  if (!placer.knows()) return {};
  placer.Choose();
  return placer.ClaimAll();
}

Answer Ask(const Evidence& evidence, const IdVector<NodeId, Tag>& placed,
           NodeId node, const Network& network) {
  Placer placer(evidence, placed, network);
  if (!placer.knows()) return {};
  placer.Choose();
  return placer.AnswerTo(node);
}

std::string TextOf(const Answer& answer, const ModuleTree& modules) {
  if (answer.best.empty()) return {};
  const auto number = [](std::uint32_t permille) {
    return fmt::format("{}.{:02}", permille / 1000, permille % 1000 / 10);
  };
  const auto names = [&](std::string_view side,
                         const std::vector<ModuleId>& of) {
    std::string text;
    for (const ModuleId module : of) {
      text += (text.empty() ? "" : ", ") + modules.Shown(module);
    }
    return text.empty() ? fmt::format("no {}", side)
                        : fmt::format("{} in {}", side, text);
  };
  std::string text = fmt::format(
      "{} by placement; surroundings: {}, {}", number(answer.best[0].permille),
      names("producers", answer.makers), names("readers", answer.readers));
  for (std::size_t i = 1; i < answer.best.size(); ++i) {
    text += fmt::format("{} {} {}", i == 1 ? "; next:" : ",",
                        modules.Shown(answer.best[i].module),
                        number(answer.best[i].permille));
  }
  return text;
}

}  // namespace onnx_tag::placing
