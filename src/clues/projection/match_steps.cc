#include "clues/projection/match_steps.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

namespace onnx_tag {
namespace {

// Scores for agreement, relative to the weight of a match.
constexpr float kSameWeights = 1.5F;
constexpr float kOtherWeights = -3.0F;
constexpr float kOneHasMatrix = -0.3F;
constexpr float kSameShape = 0.3F;
constexpr float kOtherShape = -0.3F;
constexpr float kOtherOrigin = 0.3F;  // times
constexpr float kSameSources = 0.8F;
constexpr float kOtherSources = -0.4F;
constexpr float kOwnSource = 0.3F;  // reads another node of its step
constexpr float kOneHasOneSource = -0.3F;
constexpr float kPinned = 50.0F;
constexpr float kSameModule = 1.0F;
constexpr float kOtherModule = -2.0F;
// Penalties for a miss.
constexpr float kSkipToken = 0.1F;  // times its weight
constexpr float kSkipState = 0.01F;
constexpr float kSkipStep = 0.15F;  // times its head's weight

// The table is filled one window at a time, and all but the end of a window is
// final. So a million nodes need a million times kStates steps.
constexpr std::size_t kTokens = 1024;
constexpr std::size_t kSettled = 768;
constexpr std::size_t kStates = 4096;

constexpr int kPasses = 3;
constexpr std::size_t kFewSources = 8;

struct State {
  StepId step;
  ElementId element;
  float skip = 0;
};

enum Move : std::uint8_t { kMatch, kStay, kSkipsToken, kSkipsState };

// The nearest steps or tokens upstream that have a partner.
template <typename Id, typename Of>
class Upstream {
 public:
  template <typename HasPartner>
  Upstream(const IdVector<Id, Of>& items, const HasPartner& has_partner)
      : found_(items.size()) {
    for (const Id id : AllIds<Id>(items.size())) {
      for (const Id source : items[id].sources) {
        if (source >= id) continue;
        if (has_partner(source)) {
          Add(id, source);
        } else {
          for (const Id further : found_[source]) Add(id, further);
        }
      }
    }
  }
  const std::vector<Id>& operator[](Id id) const { return found_[id]; }

 private:
  void Add(Id id, Id source) {
    auto& list = found_[id];
    if (list.size() < kFewSources && !IsAmong(source, list)) {
      list.push_back(source);
    }
  }
  IdVector<Id, std::vector<Id>> found_;
};

class StepMatcher {
 public:
  StepMatcher(const NodeTokens& tokens, const RunSteps& program,
              const TorchOps& ops, const Pins& pins,
              const KnownModulesOf& known)
      : tokens_(tokens.tokens),
        program_(program),
        ops_(ops),
        pins_(pins),
        known_(known) {
    std::set<Op> wholes;
    for (const NodeToken& token : tokens_) {
      weight_of_.Add(ops_.WeightOf(token.op));
      if (token.whole != Op::kNone) wholes.insert(token.whole);
    }
    for (const RunStep& step : program_) {
      in_parts_.Add(step.is_module && AnyIn(wholes, [&](Op whole) {
                      return step.pattern.size > 0 &&
                             ops_.Takes(step.pattern.first, whole);
                    }));
    }
    MakeStates();
    steps_.resize(tokens_.size(), kNo<StepId>);
  }

  StepMatch Run() {
    for (int pass = 0; pass < kPasses; ++pass) {
      if (pass > 0) LearnSources();
      Pass();
    }
    return Result();
  }

 private:
  void MakeStates() {
    for (const StepId id : AllIds<StepId>(program_.size())) {
      const TorchPattern& pattern = program_[id].pattern;
      for (std::uint32_t i = 0; i < pattern.size; ++i) {
        const ElementId element = MakeId<ElementId>(Index(pattern.first) + i);
        const PatternElement& what = ops_.elements()[element];
        states_.push_back(
            {id, element, what.heads ? kSkipStep * what.weight : kSkipState});
      }
    }
  }

  // After a pass: finds the sources of each token and step.
  void LearnSources() {
    std::vector<bool> found(program_.size(), false);
    for (const StepId step : steps_) {
      if (step != kNo<StepId>) found[Index(step)] = true;
    }
    const Upstream<NodeTokenId, NodeToken> tokens(
        tokens_, [&](NodeTokenId id) { return steps_[id] != kNo<StepId>; });
    const Upstream<StepId, RunStep> steps(
        program_, [&](StepId id) { return found[Index(id)]; });
    token_sources_.resize(tokens_.size());
    step_sources_.resize(program_.size());
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      token_sources_[id].clear();
      for (const NodeTokenId source : tokens[id]) {
        token_sources_[id].push_back(steps_[source]);
      }
    }
    for (const StepId id : AllIds<StepId>(program_.size())) {
      step_sources_[id] = steps[id];
    }
  }

  float SourceScore(NodeTokenId token, StepId step) const {
    if (token_sources_.empty()) return 0;
    const auto& have = token_sources_[token];
    const auto& want = step_sources_[step];
    std::size_t asked = 0;
    std::size_t same = 0;
    bool inside = false;
    for (const StepId source : have) {
      const bool own = source == step;
      inside = inside || own;
      asked += 1;
      same += own || IsAmong(source, want);
    }
    if (asked == 0) return want.empty() ? kSameSources : 0;
    if (same == 0) return want.empty() ? 0 : kOtherSources;
    return (inside ? kOwnSource : 0) +
           kSameSources * static_cast<float>(same) / static_cast<float>(asked);
  }

  // Many modules have a bias of the same size: if both have a matrix, matrices
  // decide.
  static bool SameWeights(const NodeToken& token, const RunStep& step) {
    const std::size_t least =
        HasMatrix(token.weights) && HasMatrix(step.weights) ? 2 : 0;
    for (const Shape& a : token.weights) {
      for (const Shape& b : step.weights) {
        if (a == b && a.size() >= least) return true;
      }
    }
    return false;
  }

  // 1 if all sizes that both know are equal; -1 if the numbers of elements
  // differ.
  static int CompareShapes(const Shape& a, const Shape& b) {
    const auto fixed = [](const Shape& shape) {
      return AllIn(shape, [](std::int64_t dim) { return dim >= 0; });
    };
    if (a.size() == b.size()) {
      bool same = true;
      for (std::size_t i = 0; i < a.size(); ++i) {
        same = same && (a[i] < 0 || b[i] < 0 || a[i] == b[i]);
      }
      if (same) return 1;
    }
    if (!fixed(a) || !fixed(b)) return a.size() == b.size() ? -1 : 0;
    const auto elements = [](const Shape& shape) {
      return std::accumulate(shape.begin(), shape.end(), 1.0,
                             [](double x, std::int64_t dim) {
                               return x * static_cast<double>(dim);
                             });
    };
    return elements(a) == elements(b) ? 0 : -1;
  }

  // Whether the module may have made it. A norm or activation that the file
  // writes in a recognizable way has no parts elsewhere.
  bool MayBePart(const NodeToken& token, StepId step) const {
    if (token.whole != Op::kNone) {
      return ops_.Accepts(program_[step].pattern, token.whole);
    }
    return !in_parts_[step] || ops_.WeightOf(token.op) < kTelling ||
           ops_.Takes(program_[step].pattern.first, token.op);
  }

  // Callers ask first whether the element takes the operator.
  float MatchScore(NodeTokenId id, const State& state) const {
    const NodeToken& token = tokens_[id];
    const RunStep& step = program_[state.step];
    const PatternElement& element = ops_.elements()[state.element];
    const float weight = std::min(element.weight, weight_of_[id]);
    float score = weight;
    if (step.asks_weights && element.heads && !SameWeights(token, step)) {
      return -kPinned;
    }
    if (step.is_module && !MayBePart(token, state.step)) return -kPinned;
    if (token.depends_on_input != step.depends_on_input) {
      score *= kOtherOrigin;
    }
    if (!token.weights.empty() && !step.weights.empty()) {
      if (SameWeights(token, step)) {
        score += kSameWeights * std::min(weight, 1.0F);
      } else if (element.heads && HasMatrix(token.weights) &&
                 HasMatrix(step.weights)) {
        score += kOtherWeights;
      }
    } else if (element.heads &&
               HasMatrix(token.weights) != HasMatrix(step.weights)) {
      score += kOneHasMatrix * weight;
    }
    if (token.has_shape && step.has_shape) {
      const int same = CompareShapes(token.shape, step.shape);
      if (same > 0) score += kSameShape * weight;
      if (same < 0 && element.heads) score += kOtherShape * weight;
    }
    score += weight * SourceScore(id, state.step);
    // A norm adds a number to its data, a residual connection adds data.
    if (element.heads && step.depends_on_input &&
        (token.sources.size() > 1) != (step.sources.size() > 1)) {
      score += kOneHasOneSource * weight;
    }
    if (!pins_.empty() && pins_[id] != kNo<StepId>) {
      score += pins_[id] == state.step ? kPinned : -kPinned;
    }
    if (!known_.empty() && known_[id] != nullptr) {
      score += weight * (*known_[id] == step.module ? kSameModule
                         : IsAround(*known_[id], step.module) ||
                                 IsAround(step.module, *known_[id])
                             ? 0
                             : kOtherModule);
    }
    return score;
  }

  static bool IsAround(std::string_view outer, std::string_view inner) {
    return outer.empty() ||
           (inner.size() > outer.size() && inner.starts_with(outer) &&
            inner[outer.size()] == '.');
  }

  void Pass() {
    std::size_t token = 0;
    std::size_t state = 0;
    std::fill(steps_.begin(), steps_.end(), kNo<StepId>);
    score_ = 0;
    while (token < tokens_.size()) {
      const std::size_t rows = std::min(kTokens, tokens_.size() - token);
      const std::size_t columns = std::min(kStates, states_.size() - state);
      FillWindow(token, state, rows, columns);
      const bool last = token + rows == tokens_.size();
      state +=
          TraceBack(token, state, rows, columns, last ? rows : kSettled, last);
      token += last ? rows : kSettled;
    }
  }

  // Row r, column c: the best score after r tokens, at state c (0: before the
  // first state).
  void FillWindow(std::size_t token, std::size_t state, std::size_t rows,
                  std::size_t columns) {
    const std::size_t width = columns + 1;
    moves_.assign((rows + 1) * width, kSkipsState);
    std::vector<float> before(width, 0);
    std::vector<float> now(width, 0);
    for (std::size_t c = 1; c < width; ++c) {
      before[c] = before[c - 1] - states_[state + c - 1].skip;
    }
    for (std::size_t r = 1; r <= rows; ++r) {
      const NodeTokenId id = MakeId<NodeTokenId>(token + r - 1);
      const float skip = kSkipToken * weight_of_[id];
      std::uint8_t* const moves = moves_.data() + r * width;
      now[0] = before[0] - skip;
      moves[0] = kSkipsToken;
      for (std::size_t c = 1; c < width; ++c) {
        const State& at = states_[state + c - 1];
        float best = before[c] - skip;
        std::uint8_t move = kSkipsToken;
        if (ops_.Takes(at.element, tokens_[id].op)) {
          const float score = MatchScore(id, at);
          if (before[c - 1] + score > best) {
            best = before[c - 1] + score;
            move = kMatch;
          }
          if (ops_.elements()[at.element].repeats && before[c] + score > best) {
            best = before[c] + score;
            move = kStay;
          }
        }
        if (now[c - 1] - at.skip > best) {
          best = now[c - 1] - at.skip;
          move = kSkipsState;
        }
        now[c] = best;
        moves[c] = move;
      }
      std::swap(before, now);
    }
    last_row_ = std::move(before);
  }

  // Fixes the first `settled` rows. Returns the number of states they used.
  std::size_t TraceBack(std::size_t token, std::size_t state, std::size_t rows,
                        std::size_t columns, std::size_t settled, bool last) {
    const std::size_t width = columns + 1;
    std::size_t c = columns;
    if (!last || columns < states_.size() - state) {
      c = static_cast<std::size_t>(
          std::max_element(last_row_.begin(), last_row_.end()) -
          last_row_.begin());
    }
    std::size_t used = 0;
    for (std::size_t r = rows; r > 0;) {
      if (r == settled) used = std::max(used, c);
      switch (moves_[r * width + c]) {
        case kMatch:
          Settle(token + r - 1, state + c - 1, r <= settled);
          --r;
          --c;
          break;
        case kStay:
          Settle(token + r - 1, state + c - 1, r <= settled);
          --r;
          break;
        case kSkipsToken:
          --r;
          break;
        default:
          --c;
      }
    }
    return used;
  }

  void Settle(std::size_t token, std::size_t state, bool settled) {
    if (!settled) return;
    steps_[MakeId<NodeTokenId>(token)] = states_[state].step;
    score_ += MatchScore(MakeId<NodeTokenId>(token), states_[state]);
  }

  StepMatch Result() {
    StepMatch result;
    result.score = score_;
    std::vector<bool> found(program_.size(), false);
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (!tokens_[id].depends_on_input) continue;
      result.total += weight_of_[id];
      if (steps_[id] == kNo<StepId>) continue;
      result.matched += weight_of_[id];
      found[Index(steps_[id])] = true;
    }
    for (const State& state : states_) {
      const PatternElement& element = ops_.elements()[state.element];
      if (!element.heads || !program_[state.step].depends_on_input) continue;
      result.steps_total += element.weight;
      if (found[Index(state.step)]) result.steps_matched += element.weight;
    }
    result.steps = std::move(steps_);
    return result;
  }

  const IdVector<NodeTokenId, NodeToken>& tokens_;
  const RunSteps& program_;
  const TorchOps& ops_;
  const Pins& pins_;
  const KnownModulesOf& known_;
  std::vector<State> states_;
  IdVector<NodeTokenId, float> weight_of_;
  IdVector<StepId, bool> in_parts_;  // the file writes such a module so
  double score_ = 0;
  IdVector<NodeTokenId, StepId> steps_;
  IdVector<NodeTokenId, std::vector<StepId>> token_sources_;
  IdVector<StepId, std::vector<StepId>> step_sources_;
  std::vector<std::uint8_t> moves_;
  std::vector<float> last_row_;
};

}  // namespace

KnownModulesOf KnownTokens(const NodeTokens& table, const RunSteps& program,
                           const std::vector<const std::string*>& by_node) {
  std::set<std::string_view> modules;
  for (const RunStep& step : program) modules.insert(step.module);
  KnownModulesOf known(table.tokens.size(), nullptr);
  for (const NodeTokenId id : AllIds<NodeTokenId>(table.tokens.size())) {
    const std::string* const module = by_node[Index(table.tokens[id].node)];
    if (module != nullptr && modules.contains(*module)) known[id] = module;
  }
  return known;
}

StepMatch MatchSteps(const NodeTokens& tokens, const RunSteps& program,
                     const TorchOps& ops, const Pins& pins,
                     const KnownModulesOf& known) {
  return StepMatcher(tokens, program, ops, pins, known).Run();
}

}  // namespace onnx_tag
