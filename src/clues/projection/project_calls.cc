#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/lists.h"
#include "base/union_find.h"
#include "clues/projection/call_order.h"
#include "clues/projection/match_steps.h"
#include "clues/projection/project.h"

namespace onnx_tag {
namespace {

// Such modules pack their parameters in ways that a file does not keep.
// torch.nn calls its recurrent layers as ONNX does.
bool PacksWeights(std::string_view kind) {
  return Describe(FindOp(kind)).kinds.HasAnyOf(OpKind::kRecurrent) ||
         kind == "MultiheadAttention";
}

// A step for each module that calls no other.
struct CallProgram {
  RunSteps steps;
  IdVector<StepId, std::size_t> call;  // which call a step is
};

CallProgram MakeProgram(const std::vector<CalledModule>& calls,
                        const TorchOps& ops) {
  CallProgram program;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].calls_others) continue;
    RunStep step;
    step.module = calls[i].module;
    step.depends_on_input = true;
    step.is_module = true;
    if (const TorchPattern* const pattern = ops.Find(calls[i].kind)) {
      step.pattern = *pattern;
      step.known = true;
    }
    if (!PacksWeights(calls[i].kind)) {
      for (Shape shape : calls[i].weights) {
        std::sort(shape.begin(), shape.end());
        step.asks_weights = step.asks_weights || shape.size() > 1;
        step.weights.push_back(std::move(shape));
      }
    }
    program.steps.Add(std::move(step));
    program.call.Add(i);
  }
  return program;
}

class CallProjector {
 public:
  CallProjector(const CallTable& call_table,
                const std::vector<const std::string*>& known,
                const CallProgram& program, const NodeTokens& table,
                IdVector<NodeTokenId, StepId> steps)
      : ops_(BuiltInTorchOps()),
        call_table_(call_table),
        calls_(call_table.calls),
        known_(known),
        program_(program),
        tokens_(table.tokens),
        steps_(std::move(steps)),
        only_(tokens_.size(), false),
        readers_(ReadersOf(tokens_)) {}

  std::vector<ProjectedNode> Run() {
    KeepWholes();
    FillGaps();
    const IdVector<NodeTokenId, std::string_view> modules = FollowSequences();
    const IdVector<StepId, bool> doubtful = FindParallel();
    std::vector<ProjectedNode> nodes;
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps_[id] == kNo<StepId>) continue;
      const bool beside = doubtful[steps_[id]];
      nodes.push_back(
          {tokens_[id].node, modules[id],
           only_[id] || beside ? Confidence::kMedium : Confidence::kHigh,
           only_[id] ? "in the hierarchy, only this module is called here"
           : beside  ? "in the hierarchy, a module of this class is called "
                       "here, beside an equal one"
                     : "in the hierarchy, a module of this class is called "
                       "here"});
    }
    return nodes;
  }

 private:
  bool IsHead(NodeTokenId id) const {
    return ops_.IsHead(program_.steps[steps_[id]].pattern, tokens_[id].op);
  }

  // A part counts where it is next to what shows the module: an Add somewhere
  // is not the Add of a norm.
  void KeepWholes() {
    passes_by_ = FindPassingBy();
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (tokens_[id].op == Op::kUnsqueeze) adds_axis_.insert(steps_[id]);
      if (Describe(tokens_[id].op).kinds.HasAnyOf(OpKind::kNorm)) {
        has_norm_.insert(steps_[id]);
      }
    }
    std::vector<NodeTokenId> queue;
    IdVector<NodeTokenId, bool> kept(tokens_.size(), false);
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps_[id] == kNo<StepId>) continue;
      if (!IsHead(id) &&
          (ops_.WeightOf(tokens_[id].op) < kTelling || IsBesideNorm(id))) {
        continue;
      }
      kept[id] = true;
      queue.push_back(id);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const NodeTokenId at = queue[i];
      const auto keep = [&](NodeTokenId id, bool reads) {
        if (kept[id] || steps_[id] != steps_[at]) return;
        if (IsBesideNorm(id) ||
            (reads ? MeetsOthers(id) || IsAfter(id) : IsBefore(id))) {
          return;
        }
        kept[id] = true;
        queue.push_back(id);
      };
      for (const NodeTokenId id : tokens_[at].sources) keep(id, false);
      for (const NodeTokenId id : readers_[at]) keep(id, true);
    }
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (!kept[id]) steps_[id] = kNo<StepId>;
    }
  }

  // Whether it adds something else to the product of a layer: the bias of a
  // layer is a constant.
  bool MeetsOthers(NodeTokenId id) const {
    if (tokens_[id].op != Op::kAdd) return false;
    const StepId step = steps_[id];
    return AnyIn(tokens_[id].sources,
                 [&](NodeTokenId source) { return steps_[source] != step; });
  }

  // Whether it prepares what others made for the module: it joins several
  // values, adds an axis, transposes one for a Linear, or moves one that others
  // read, too. The caller does so.
  bool IsBefore(NodeTokenId id) const {
    const auto& sources = tokens_[id].sources;
    const auto is_others = [&](NodeTokenId other) {
      return steps_[other] != steps_[id];
    };
    const bool from_others = sources.empty() || AnyIn(sources, is_others);
    if (!from_others) return false;
    if (passes_by_[id]) return true;
    if (tokens_[id].op == Op::kConcat) return sources.size() > 1;
    if (tokens_[id].op == Op::kUnsqueeze) return true;
    return tokens_[id].op == Op::kTranspose &&
           calls_[program_.call[steps_[id]]].kind == "Linear";
  }

  // Whether it takes the axis away that no token of its step added, and only
  // others read it: the caller does so.
  bool IsAfter(NodeTokenId id) const {
    const auto is_own = [&](NodeTokenId other) {
      return steps_[other] == steps_[id];
    };
    return tokens_[id].op == Op::kSqueeze && !adds_axis_.contains(steps_[id]) &&
           !AnyIn(readers_[id], is_own);
  }

  // Whether it computes without a table in a step whose norm is one operator:
  // such a norm has no other part that does so.
  bool IsBesideNorm(NodeTokenId id) const {
    return has_norm_.contains(steps_[id]) && !tokens_[id].reads_table &&
           !IsHead(id) && !IsLayout(id) && tokens_[id].op != Op::kCast;
  }

  // Tokens whose result, at most moved, is what a token outside their step
  // reads. If they read what others made, the step did not make it.
  IdVector<NodeTokenId, bool> FindPassingBy() const {
    IdVector<NodeTokenId, bool> passing(tokens_.size(), false);
    for (std::size_t i = tokens_.size(); i-- > 0;) {
      const NodeTokenId id = MakeId<NodeTokenId>(i);
      const auto is_outside = [&](NodeTokenId reader) {
        return steps_[reader] != steps_[id] || passing[reader] ||
               MeetsOthers(reader);
      };
      passing[id] = IsLayout(id) && AnyIn(readers_[id], is_outside);
    }
    return passing;
  }

  // What runs between two modules belongs to the module of unknown class that
  // is called between them. If others may run there, too, most of it does; none
  // of it if the module has a table and nothing there reads one.
  void FillGaps() {
    const IdVector<NodeTokenId, StepId> found = steps_;
    std::vector<NodeTokenId> gap;
    NodeTokenId before = kNo<NodeTokenId>;
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (found[id] == kNo<StepId>) {
        gap.push_back(id);
        continue;
      }
      if (before != kNo<NodeTokenId> && found[before] < found[id]) {
        Fill(gap, before, found[id]);
      }
      gap.clear();
      before = id;
    }
  }

  void Fill(const std::vector<NodeTokenId>& gap, NodeTokenId last,
            StepId after) {
    const StepId before = steps_[last];
    StepId only = kNo<StepId>;
    for (std::size_t i = Index(before) + 1; i < Index(after); ++i) {
      const StepId id = MakeId<StepId>(i);
      if (program_.steps[id].known) continue;
      if (only != kNo<StepId>) return;
      only = id;
    }
    // What has parameters has names or shapes to be found by.
    if (only == kNo<StepId> || !program_.steps[only].weights.empty()) return;
    const bool alone = !OthersRun(program_.call[before], program_.call[after]);
    const bool shared = IsShared(calls_[program_.call[only]]);
    std::set<NodeTokenId> made = {last};
    std::set<NodeTokenId> returned;
    std::vector<NodeTokenId> taken;
    for (const NodeTokenId id : gap) {
      const auto& sources = tokens_[id].sources;
      const auto reads = [&](const std::set<NodeTokenId>& results) {
        return AnyIn(sources, [&](NodeTokenId source) {
          return results.contains(source);
        });
      };
      if (shared && (IsAttending(id) || reads(returned))) {
        returned.insert(id);
        continue;
      }
      if (!reads(made)) continue;
      const bool first = !AnyIn(
          sources, [&](NodeTokenId source) { return steps_[source] == only; });
      if (!alone && first && IsCallers(id, before, made)) {
        made.insert(id);
        continue;
      }
      made.insert(id);
      taken.push_back(id);
      steps_[id] = only;
    }
    const bool is_its =
        !calls_[program_.call[only]].has_table ||
        AnyIn(taken, [&](NodeTokenId id) { return tokens_[id].reads_table; });
    for (const NodeTokenId id : taken) {
      if (!is_its) steps_[id] = kNo<StepId>;
      only_[id] = is_its && !alone;
    }
  }

  // The modules of the tokens. Branches of equal modules have equal steps, and
  // the order of calls mixes them up, also the parts of one module. But in a
  // Sequential a module reads what the one before it made.
  IdVector<NodeTokenId, std::string_view> FollowSequences() const {
    UnionFind<NodeTokenId> parts(tokens_.size());
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      for (const NodeTokenId source : tokens_[id].sources) {
        if (steps_[source] == steps_[id]) parts.Join(source, id);
      }
    }
    // By the first token of a part.
    IdVector<NodeTokenId, bool> settled(tokens_.size(), false);
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (NameOf(id) != nullptr) settled[parts.Find(id)] = true;
    }
    IdVector<NodeTokenId, std::string_view> modules(tokens_.size(), "");
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      const StepId step = steps_[id];
      if (step == kNo<StepId>) continue;
      const NodeTokenId first = parts.Find(id);
      modules[id] = first == id ? program_.steps[step].module : modules[first];
      if (first != id || settled[id]) continue;
      const NodeTokenId source = MadeBy(id);
      if (source == kNo<NodeTokenId>) continue;
      std::string_view before = modules[source];
      if (const std::string* const name = NameOf(source)) before = *name;
      const std::size_t call = call_table_.FirstOf(before);
      if (call == calls_.size()) continue;
      const std::size_t next = NextInSequence(call, program_.call[step]);
      if (next < calls_.size()) modules[id] = calls_[next].module;
    }
    return modules;
  }

  // The only token whose result it reads, at most moved; or kNo.
  NodeTokenId MadeBy(NodeTokenId id) const {
    constexpr int kMostMoves = 4;
    NodeTokenId at = OnlySource(tokens_[id]);
    for (int i = 0;
         i < kMostMoves && at != kNo<NodeTokenId> &&
         steps_[at] == kNo<StepId> && NameOf(at) == nullptr && IsLayout(at);
         ++i) {
      at = OnlySource(tokens_[at]);
    }
    return at;
  }

  // Steps that another step may be mistaken for: the next call of the same
  // class and shapes runs beside it, not behind it, and no name tells which is
  // which.
  IdVector<StepId, bool> FindParallel() const {
    IdVector<StepId, NodeTokenId> heads(program_.steps.size(),
                                        kNo<NodeTokenId>);
    IdVector<StepId, bool> named(program_.steps.size(), false);
    IdVector<StepId, bool> reads_named(program_.steps.size(), false);
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      const StepId step = steps_[id];
      if (step == kNo<StepId>) continue;
      const NodeTokenId source = OnlySource(tokens_[id]);
      named[step] = named[step] || NameOf(id) != nullptr;
      reads_named[step] = reads_named[step] || (source != kNo<NodeTokenId> &&
                                                NameOf(source) != nullptr);
      if (IsHead(id) && heads[step] == kNo<NodeTokenId>) heads[step] = id;
    }
    IdVector<StepId, bool> doubtful(program_.steps.size(), false);
    std::map<std::pair<std::string_view, std::vector<Shape>>, StepId> last;
    for (const StepId step : AllIds<StepId>(program_.steps.size())) {
      if (heads[step] == kNo<NodeTokenId>) continue;
      const auto [at, is_new] = last.try_emplace(
          {calls_[program_.call[step]].kind, program_.steps[step].weights},
          step);
      if (is_new) continue;
      const StepId before = std::exchange(at->second, step);
      if (Reaches(heads[before], heads[step])) continue;
      // What both read tells nothing.
      const NodeTokenId source = OnlySource(tokens_[heads[step]]);
      const bool same = source == OnlySource(tokens_[heads[before]]);
      const auto doubt = [&](StepId of) {
        return !named[of] && (same || !reads_named[of]);
      };
      doubtful[before] = doubtful[before] || doubt(before);
      doubtful[step] = doubt(step);
    }
    return doubtful;
  }

  // Whether the second token depends on the first. Tokens are in an order of
  // execution; a long way is taken for a dependence.
  bool Reaches(NodeTokenId from, NodeTokenId to) const {
    constexpr std::size_t kLongest = 64;
    constexpr std::size_t kMostEdges = 4096;
    if (from > to) return false;
    std::size_t edges = 0;
    std::set<NodeTokenId> open = {to};
    for (std::size_t seen = 0; !open.empty() && seen < kLongest; ++seen) {
      const NodeTokenId at = *open.rbegin();
      if (at == from) return true;
      open.erase(at);
      for (const NodeTokenId source : tokens_[at].sources) {
        if (++edges > kMostEdges) return true;
        if (source >= from) open.insert(source);
      }
    }
    return !open.empty();
  }

  // The module that the file names for a token, or null.
  const std::string* NameOf(NodeTokenId id) const {
    return known_[Index(tokens_[id].node)];
  }

  // The call of the class of `like` that follows `call` in a Sequential, past
  // modules that leave no node. The number of calls if there is none, or if
  // `like` is called there, too.
  std::size_t NextInSequence(std::size_t call, std::size_t like) const {
    if (!call_table_.IsInTurn(call) ||
        calls_[like].caller == calls_[call].caller) {
      return calls_.size();
    }
    constexpr int kMostSkipped = 8;
    int skipped = 0;
    for (std::size_t i = call_table_.next[call];
         i < calls_.size() && skipped < kMostSkipped;
         i = call_table_.next[i], ++skipped) {
      if (calls_[i].kind == calls_[like].kind) return i;
      const TorchPattern* const left = BuiltInTorchOps().Find(calls_[i].kind);
      if (left == nullptr || (left->size > 0 && !left->folds)) break;
    }
    return calls_.size();
  }

  // Whether the module is elsewhere than the module that calls it: rotary
  // positions, which all layers use.
  bool IsShared(const CalledModule& call) const {
    if (call.caller == CalledModule::kNobody) return false;
    const std::string& caller = calls_[call.caller].module;
    return !caller.empty() && !(call.module + ".").starts_with(caller + ".");
  }

  // Whether it is the caller's own work after such a module has returned.
  bool IsAttending(NodeTokenId id) const {
    const NodeToken& token = tokens_[id];
    return token.op == Op::kSoftmax ||
           (token.op == Op::kMatMul && token.sources.size() > 1);
  }

  // A caller splits the result of a Linear into heads, and adds what it has to
  // the result of a module.
  bool IsCallers(NodeTokenId id, StepId before,
                 const std::set<NodeTokenId>& made) const {
    if (IsLayout(id)) return program_.steps[before].asks_weights;
    return AnyIn(tokens_[id].sources,
                 [&](NodeTokenId source) { return !made.contains(source); });
  }

  bool IsLayout(NodeTokenId id) const {
    return Describe(tokens_[id].op)
        .kinds.HasAnyOf({OpKind::kReshape, OpKind::kTranspose});
  }

  // Whether a module that calls others may have operations between two calls.
  bool OthersRun(std::size_t before, std::size_t after) const {
    std::set<std::size_t> callers;
    for (std::size_t i = before + 1; i <= after; ++i) {
      callers.insert(calls_[i].caller);
    }
    for (std::size_t at = calls_[before].caller;
         at != CalledModule::kNobody && !callers.contains(at);
         at = calls_[at].caller) {
      if (!calls_[at].only_calls) return true;
    }
    return AnyIn(callers, [&](std::size_t at) {
      return at == CalledModule::kNobody || !calls_[at].only_calls;
    });
  }

  const TorchOps& ops_;
  const CallTable& call_table_;
  const std::vector<CalledModule>& calls_;
  const std::vector<const std::string*>& known_;  // by node
  const CallProgram& program_;
  const IdVector<NodeTokenId, NodeToken>& tokens_;
  IdVector<NodeTokenId, StepId> steps_;
  IdVector<NodeTokenId, bool> only_;  // its caller may run there, too
  IdVector<NodeTokenId, bool> passes_by_;
  std::set<StepId> adds_axis_;  // steps with an Unsqueeze
  std::set<StepId> has_norm_;   // steps with the operator of a norm
  IdVector<NodeTokenId, std::vector<NodeTokenId>> readers_;
};

}  // namespace

Projection ProjectCalls(const GraphFacts& facts,
                        const std::vector<CalledModule>& calls,
                        const std::vector<const std::string*>& known) {
  const CallTable call_table(calls);
  const CallProgram program = MakeProgram(calls, BuiltInTorchOps());
  const NodeTokens written = MakeNodeTokens(facts);
  Projection projection;
  double most = -1;
  // Tools sort nodes anew.
  for (const NodeTokens& tokens :
       {written, SortDepthFirst(facts.model, written)}) {
    std::vector<const std::string*> expected = known;
    const NodeTokens sorted = SortByCalls(tokens, call_table, &expected);
    const auto match = [&](const NodeTokens& table) {
      return MatchSteps(table, program.steps, BuiltInTorchOps(), {},
                        KnownTokens(table, program.steps, expected));
    };
    StepMatch best = match(sorted);
    StepMatch as_it_is = match(tokens);
    const bool sort = std::pair(best.steps_matched, best.score) >=
                      std::pair(as_it_is.steps_matched, as_it_is.score);
    if (!sort) best = std::move(as_it_is);
    if (best.steps_matched <= most) continue;
    most = best.steps_matched;
    projection.score = best.score;
    projection.nodes =
        CallProjector(call_table, known, program, sort ? sorted : tokens,
                      std::move(best.steps))
            .Run();
  }
  return projection;
}

}  // namespace onnx_tag
