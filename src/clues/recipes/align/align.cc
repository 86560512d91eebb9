#include "clues/recipes/align/align.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

namespace onnx_tag::recipes {
namespace {

using Score = std::int32_t;

constexpr Score kNever = -100'000'000;
constexpr Score kAnchor = 8 * kUnit;  // the parameter is in the same module
constexpr Score kExact = kUnit / 2;   // with the same indices
constexpr Score kClash = 12 * kUnit;  // it is in another recorded module
constexpr Score kExtra = kUnit / 5;
constexpr Score kConvolutionExtra = kUnit;
// The maximum size of the table, with two bytes per cell.
constexpr std::size_t kMostCells = std::size_t{24} << 20;

enum Move : std::int16_t {
  kStart = -1,  // the alignment starts here
  kMatch = 0,
  kInsert = 1,
  kDelete = 2,
  kFirstJump = 3
};

// By Weight.
constexpr Score kInsertCosts[] = {kUnit / 5, kUnit / 2, 2 * kUnit};
constexpr Score kDeleteCosts[] = {kUnit / 5, kUnit / 2, 3 * kUnit};

Score DeleteCost(const Step& step) {
  if (step.batch_norm) return kUnit * 3 / 10;  // most tools fold it away
  return kDeleteCosts[static_cast<std::size_t>(step.weight)];
}

Score MatchScore(const Step& a, const Step& b) {
  const Score weight = ScoreOf(a.weight);
  if (a.label == b.label) {
    Score score = weight;
    if (a.inputs == b.inputs) score += weight / 4;
    if (a.readers == b.readers) score += weight / 4;
    if (a.extra == b.extra) score += a.convolution ? kConvolutionExtra : kExtra;
    return score;
  }
  return (a.soft & b.soft) != 0 ? weight * 3 / 10 : kNever;
}

struct StepHash {
  std::size_t operator()(const Step& step) const {
    return static_cast<std::size_t>(step.label ^ (step.inputs * 3) ^
                                    (step.readers * 5) ^ (step.extra * 7));
  }
};

// Scores are stored with the cost of deleting all steps before the place
// added (`paid_`). So a deletion does not change a score, and the best way to a
// place through deletions is the maximum of what stands before it.
class Aligner {
 public:
  Aligner(const Query& query, const Program& program)
      : query_(query), program_(program) {
    for (const Step& step : program.steps) {
      delete_.push_back(DeleteCost(step));
      paid_.push_back(paid_.back() + delete_.back());
    }
    for (const Jump& jump : program.jumps) {
      jump_costs_.push_back(jump.cost + paid_[jump.from] - paid_[jump.to]);
    }
    for (std::uint32_t j = 0; j < program.steps.size(); ++j) {
      if (program.generic[j] != nullptr)
        by_path_[*program.generic[j]].push_back(j);
      // The recorded token used the same parameter.
      const Path* const anchor = program.anchor[j];
      if (anchor == nullptr || anchor == program.path[j]) continue;
      by_path_[Generic(*anchor)].push_back(j);
    }
  }

  Alignment Run() {
    // Missing parts at either end of the recipe have a small penalty.
    start_.assign(width_, 0);
    moves_[0] = kStart;
    for (std::size_t j = 1; j < width_; ++j) {
      start_[j] = start_[j - 1] - EndCost(j - 1) + delete_[j - 1];
      moves_[j] = kDelete;
    }
    std::vector<Score> scores = start_;
    std::vector<Score> next(width_);
    std::vector<Score> row(program_.steps.size());
    End end = BestEnd(scores, 0);
    for (std::size_t i = 0; i < query_.steps.size(); ++i) {
      Advance(i, RowFor(i, row), scores, next);
      scores.swap(next);
      if (!query_.free_ends && i + 1 < query_.steps.size()) continue;
      const End here = BestEnd(scores, i + 1);
      if (!query_.free_ends || here.score > end.score) end = here;
    }
    return Trace(end);
  }

 private:
  Score EndCost(std::size_t j) const { return delete_[j] * 3 / 20; }

  // The scores of matching step i of the file with each step of the program,
  // and the cost of deleting that step.
  const std::vector<Score>& RowFor(std::size_t i, std::vector<Score>& row) {
    Step step = query_.steps[i];
    step.token = 0;
    const auto [at, is_new] = rows_.try_emplace(step);
    std::vector<Score>& known = at->second;
    if (is_new) {
      known.reserve(program_.steps.size());
      for (std::size_t j = 0; j < program_.steps.size(); ++j) {
        known.push_back(MatchScore(step, program_.steps[j]) + delete_[j]);
      }
    }
    const Path* const anchor = query_.anchor[i];
    if (anchor == nullptr) return known;
    const auto places = by_path_.find(Generic(*anchor));
    if (places == by_path_.end()) return known;
    // A tied embedding has the name of the head, so there is no penalty.
    const Score clash = step.gather ? 0 : kClash;
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = known[j] - clash;
    for (const std::uint32_t j : places->second) {
      const bool exact =
          program_.path[j] != nullptr && *program_.path[j] == *anchor;
      row[j] = known[j] + kAnchor + (exact ? kExact : 0);
    }
    return row;
  }

  void Advance(std::size_t i, const std::vector<Score>& row,
               const std::vector<Score>& from, std::vector<Score>& to) {
    std::int16_t* const moves = &moves_[(i + 1) * width_];
    const Score insert =
        kInsertCosts[static_cast<std::size_t>(query_.steps[i].weight)];
    to[0] = from[0] - insert;
    moves[0] = kInsert;
    for (std::size_t j = 0; j + 1 < width_; ++j) {
      const Score match = from[j] + row[j];
      const Score stay = from[j + 1] - insert;
      const bool better = match > stay;
      to[j + 1] = better ? match : stay;
      moves[j + 1] = better ? kMatch : kInsert;
    }
    if (query_.free_ends) StartHere(to, moves);
    Skip(0, to, moves);
    const std::size_t landed = Leap(to, moves);
    if (landed < width_) Skip(landed, to, moves);
  }

  void StartHere(std::vector<Score>& scores, std::int16_t* moves) const {
    for (std::size_t j = 0; j < width_; ++j) {
      if (start_[j] < scores[j]) continue;
      scores[j] = start_[j];
      moves[j] = kStart;
    }
  }

  // From `begin` on, skips steps of the recipe that the file does not have.
  void Skip(std::size_t begin, std::vector<Score>& scores,
            std::int16_t* moves) const {
    Score best = scores[begin];
    for (std::size_t j = begin + 1; j < width_; ++j) {
      const Score score = scores[j];
      const bool skipped = best > score;
      best = skipped ? best : score;
      scores[j] = best;
      moves[j] = skipped ? std::int16_t{kDelete} : moves[j];
    }
  }

  // The first place that a jump improved; else `width_`.
  std::size_t Leap(std::vector<Score>& scores, std::int16_t* moves) {
    landing_.clear();
    for (std::size_t k = 0; k < jump_costs_.size(); ++k) {
      landing_.push_back(scores[program_.jumps[k].from] - jump_costs_[k]);
    }
    std::size_t first = width_;
    for (std::size_t k = 0; k < landing_.size(); ++k) {
      const std::size_t to = program_.jumps[k].to;
      if (landing_[k] <= scores[to]) continue;
      scores[to] = landing_[k];
      moves[to] = static_cast<std::int16_t>(kFirstJump + static_cast<int>(k));
      first = std::min(first, to);
    }
    return first;
  }

  // Where an alignment ends: after step `i` of the file, before step `j` of
  // the program.
  struct End {
    std::size_t i = 0;
    std::size_t j = 0;
    Score score = kNever;
  };

  End BestEnd(const std::vector<Score>& scores, std::size_t i) const {
    End end{i, 0, kNever * 10};
    Score tail = 0;
    for (std::size_t at = width_; at-- > 0;) {
      if (at + 1 < width_) tail += EndCost(at);
      const Score score = scores[at] - paid_[at] - tail;
      if (score >= end.score) {
        end.score = score;
        end.j = at;
      }
    }
    return end;
  }

  Alignment Trace(const End& end) const {
    Alignment result;
    result.match.assign(query_.steps.size(), kNone);
    result.score = end.score;
    std::size_t i = end.i;
    std::size_t j = end.j;
    // This ends, because each jump has a penalty.
    while (i > 0) {
      const std::int16_t move = moves_[i * width_ + j];
      if (move == kStart) break;
      if (move == kMatch) {
        --i;
        --j;
        result.match[i] = static_cast<std::uint32_t>(j);
      } else if (move == kInsert) {
        --i;
      } else if (move == kDelete) {
        --j;
      } else {
        const auto k = static_cast<std::uint32_t>(move - kFirstJump);
        result.jumps.push_back({static_cast<std::uint32_t>(i), k});
        j = program_.jumps[k].from;
      }
    }
    result.stretch = {query_.free_ends ? i : 0, end.i};
    std::reverse(result.jumps.begin(), result.jumps.end());
    return result;
  }

  const Query& query_;
  const Program& program_;
  const std::size_t width_ = program_.steps.size() + 1;
  // Each cell is written before it is read. Emscripten's library has no
  // make_unique_for_overwrite.
  std::unique_ptr<std::int16_t[]> moves_{
      new std::int16_t[(query_.steps.size() + 1) * width_]};
  std::vector<Score> start_;  // by place in the program: score of a start there
  std::vector<Score> delete_;
  std::vector<Score> paid_ = {0};  // by place: of all steps before it
  std::vector<Score> jump_costs_;  // with the difference of what is paid
  std::vector<Score> landing_;
  std::unordered_map<Path, std::vector<std::uint32_t>, PathHash> by_path_;
  std::unordered_map<Step, std::vector<Score>, StepHash> rows_;
};

}  // namespace

bool CanAlign(std::size_t query_steps, std::size_t program_steps) {
  return query_steps > 0 && program_steps > 0 &&
         (query_steps + 1) < kMostCells / (program_steps + 1);
}

std::int64_t IdealScore(const Query& query, Stretch stretch,
                        std::size_t anchors) {
  std::int64_t score = static_cast<std::int64_t>(anchors) * kAnchor;
  for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
    score += MatchScore(query.steps[i], query.steps[i]);
  }
  return score;
}

Alignment Align(const Query& query, const Program& program) {
  return Aligner(query, program).Run();
}

namespace {

class Decoder {
 public:
  Decoder(const Program& program, const Alignment& alignment)
      : program_(program), alignment_(alignment) {}

  std::vector<std::optional<Path>> Run() {
    std::vector<std::optional<Path>> paths(alignment_.match.size());
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
      for (;
           next < alignment_.jumps.size() && alignment_.jumps[next].before <= i;
           ++next) {
        Take(program_.jumps[alignment_.jumps[next].jump]);
      }
      if (alignment_.match[i] == kNone) continue;
      const Path* const recorded = program_.path[alignment_.match[i]];
      if (recorded != nullptr) paths[i] = Count(*recorded);
    }
    return paths;
  }

 private:
  // Of a list, by its generic path.
  struct Place {
    std::int64_t here = 0;      // index in the file
    std::int64_t recorded = 0;  // in the recipe
  };

  void Take(const Jump& jump) {
    if (!jump.counts) return;
    const auto [at, is_new] = places_.try_emplace(jump.list, Place{-1, 0});
    ++at->second.here;
    at->second.recorded = IndexOf(jump.target.back());
    Forget(jump.list);
    for (std::size_t k = 0; k + 1 < jump.target.size(); ++k) {
      if (!IsIndex(jump.target[k])) continue;
      const std::int64_t index = IndexOf(jump.target[k]);
      const auto [outer, fresh] = places_.try_emplace(
          Generic(First(jump.target, k)), Place{index, index});
      outer->second.recorded = index;
    }
  }

  // In another item, the inner lists start again.
  void Forget(const Path& list) {
    std::erase_if(places_, [&](const auto& entry) {
      return entry.first.size() > list.size() && StartsWith(entry.first, list);
    });
  }

  Path Count(const Path& recorded) {
    Path path = recorded;
    for (std::size_t k = 0; k < recorded.size(); ++k) {
      if (!IsIndex(recorded[k])) continue;
      const std::int64_t index = IndexOf(recorded[k]);
      const Path list = Generic(First(recorded, k));
      const auto [at, is_new] = places_.try_emplace(list, Place{index, index});
      if (!is_new && index != at->second.recorded) {
        at->second.here += index - at->second.recorded;
        at->second.recorded = index;
        Forget(list);
      }
      path[k] = MakeIndex(static_cast<std::uint32_t>(
          std::max<std::int64_t>(0, at->second.here)));
    }
    return path;
  }

  const Program& program_;
  const Alignment& alignment_;
  std::map<Path, Place> places_;
};

}  // namespace

std::vector<std::optional<Path>> Decode(const Program& program,
                                        const Alignment& alignment) {
  return Decoder(program, alignment).Run();
}

}  // namespace onnx_tag::recipes
