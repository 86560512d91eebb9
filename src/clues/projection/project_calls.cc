#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string_view>
#include <utility>

#include "clues/projection/match_steps.h"
#include "clues/projection/project.h"

namespace onnx_tag {
namespace {

// An operator of this weight is a part that shows the whole: the Sigmoid of a
// SiLU, the Erf of a GELU.
constexpr float kTelling = 3.0F;

// torch.nn calls its recurrent layers as ONNX does.
bool IsRecurrent(std::string_view kind) {
  return Describe(FindOp(kind)).kinds.HasAnyOf(OpKind::kRecurrent);
}

// Such modules pack their parameters in ways that a file does not keep.
bool PacksWeights(std::string_view kind) {
  return IsRecurrent(kind) || kind == "MultiheadAttention";
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

// The calls, and how to find them. Made once for all orders of the tokens.
struct CallTable {
  explicit CallTable(const std::vector<CalledModule>& of)
      : calls(of), next(of.size(), of.size()) {
    std::map<std::size_t, std::size_t> last;  // by caller
    for (std::size_t i = 0; i < calls.size(); ++i) {
      first.emplace(calls[i].module, i);
      const auto [at, is_new] = last.try_emplace(calls[i].caller, i);
      if (!is_new) next[std::exchange(at->second, i)] = i;
    }
  }

  // The first call of a module; the number of calls if there is none.
  std::size_t FirstOf(std::string_view module) const {
    const auto at = first.find(module);
    return at == first.end() ? calls.size() : at->second;
  }
  // Whether the next item of a Sequential reads what the call returns.
  bool IsInTurn(std::size_t call) const {
    const std::size_t caller = calls[call].caller;
    return caller != CalledModule::kNobody && calls[caller].in_turn;
  }

  const std::vector<CalledModule>& calls;
  std::map<std::string_view, std::size_t> first;  // by module
  std::vector<std::size_t> next;  // by call: the next one of the same caller
};

// The one token that a token reads; kNo if it reads several.
NodeTokenId OnlySource(const NodeToken& token) {
  const auto& sources = token.sources;
  const bool one =
      !sources.empty() &&
      std::all_of(sources.begin(), sources.end(), [&](NodeTokenId source) {
        return source == sources.front();
      });
  return one ? sources.front() : kNo<NodeTokenId>;
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
    const IdVector<StepId, std::string_view> modules = FollowSequences();
    const IdVector<StepId, bool> doubtful = FindParallel();
    std::vector<ProjectedNode> nodes;
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps_[id] == kNo<StepId>) continue;
      const bool beside = doubtful[steps_[id]];
      nodes.push_back(
          {tokens_[id].node, modules[steps_[id]],
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
    std::vector<NodeTokenId> queue;
    IdVector<NodeTokenId, bool> kept(tokens_.size(), false);
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps_[id] == kNo<StepId>) continue;
      if (!IsHead(id) &&
          (ops_.WeightOf(tokens_[id].op) < kTelling || IsBefore(id))) {
        continue;
      }
      kept[id] = true;
      queue.push_back(id);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const NodeTokenId at = queue[i];
      const auto keep = [&](NodeTokenId id, bool reads) {
        if (kept[id] || steps_[id] != steps_[at]) return;
        if (reads ? MeetsOthers(id) : IsBefore(id) || IsFolding(id)) return;
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
    return std::any_of(
        tokens_[id].sources.begin(), tokens_[id].sources.end(),
        [&](NodeTokenId source) { return steps_[source] != step; });
  }

  // Whether it prepares what others made for the module: it joins several
  // values, adds an axis, transposes one for a Linear, or pads one that others
  // read, too, or that needs no padding. The caller does so.
  bool IsBefore(NodeTokenId id) const {
    const auto& sources = tokens_[id].sources;
    const bool from_others = std::any_of(
        sources.begin(), sources.end(),
        [&](NodeTokenId source) { return steps_[source] != steps_[id]; });
    if (!from_others) return false;
    if (tokens_[id].op == Op::kConcat) return sources.size() > 1;
    if (tokens_[id].op == Op::kUnsqueeze) return true;
    if (tokens_[id].op == Op::kPad) {
      return readers_[id].size() != 1 || IsPointwise(readers_[id].front());
    }
    return tokens_[id].op == Op::kTranspose &&
           calls_[program_.call[steps_[id]]].kind == "Linear";
  }

  // Whether its kernel, the smallest dimensions of its weight, is 1.
  bool IsPointwise(NodeTokenId id) const {
    return std::any_of(tokens_[id].weights.begin(), tokens_[id].weights.end(),
                       [](const Shape& shape) {
                         return shape.size() > 2 &&
                                std::all_of(shape.begin(), shape.end() - 2,
                                            [](auto dim) { return dim == 1; });
                       });
  }

  // Whether it gives a sequence the axes that a recurrent layer takes: the
  // caller does so.
  bool IsFolding(NodeTokenId id) const {
    return tokens_[id].op == Op::kReshape &&
           IsRecurrent(calls_[program_.call[steps_[id]]].kind);
  }

  // What runs between two modules belongs to the module of unknown class that
  // is called between them. If others may run there, too, most of it does.
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
    for (const NodeTokenId id : gap) {
      const auto& sources = tokens_[id].sources;
      const auto reads = [&](const std::set<NodeTokenId>& results) {
        return std::any_of(
            sources.begin(), sources.end(),
            [&](NodeTokenId source) { return results.contains(source); });
      };
      if (shared && (IsAttending(id) || reads(returned))) {
        returned.insert(id);
        continue;
      }
      if (!reads(made)) continue;
      const bool first = std::none_of(
          sources.begin(), sources.end(),
          [&](NodeTokenId source) { return steps_[source] == only; });
      if (!alone && first && IsCallers(id, before, made)) {
        made.insert(id);
        continue;
      }
      made.insert(id);
      steps_[id] = only;
      only_[id] = !alone;
    }
  }

  // The modules of the steps. Branches of equal modules have equal steps, and
  // the order of calls mixes them up. But in a Sequential a module reads what
  // the one before it made.
  IdVector<StepId, std::string_view> FollowSequences() const {
    IdVector<StepId, std::string_view> modules(program_.steps.size(), "");
    IdVector<StepId, bool> settled(program_.steps.size(), false);
    for (const StepId step : AllIds<StepId>(modules.size())) {
      modules[step] = program_.steps[step].module;
    }
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps_[id] != kNo<StepId> && NameOf(id) != nullptr) {
        settled[steps_[id]] = true;
      }
    }
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      const StepId step = steps_[id];
      if (step == kNo<StepId> || settled[step]) continue;
      settled[step] = true;  // its first node decides
      const NodeTokenId source = OnlySource(tokens_[id]);
      if (source == kNo<NodeTokenId>) continue;
      std::string_view before;
      if (const std::string* const name = NameOf(source)) {
        before = *name;
      } else if (steps_[source] != kNo<StepId>) {
        before = modules[steps_[source]];
      }
      const std::size_t call = call_table_.FirstOf(before);
      if (call == calls_.size()) continue;
      const std::size_t next = NextInSequence(call, program_.call[step]);
      if (next < calls_.size()) modules[step] = calls_[next].module;
    }
    return modules;
  }

  // Steps that another step may be mistaken for: the next call of the same
  // class and shapes runs beside it, not behind it, and no name tells which is
  // which.
  IdVector<StepId, bool> FindParallel() const {
    IdVector<StepId, NodeTokenId> heads(program_.steps.size(),
                                        kNo<NodeTokenId>);
    IdVector<StepId, bool> named(program_.steps.size(), false);
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      const StepId step = steps_[id];
      if (step == kNo<StepId>) continue;
      const NodeTokenId source = OnlySource(tokens_[id]);
      named[step] = named[step] || NameOf(id) != nullptr ||
                    (source != kNo<NodeTokenId> && NameOf(source) != nullptr);
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
      doubtful[before] = doubtful[before] || !named[before];
      doubtful[step] = !named[step];
    }
    return doubtful;
  }

  // Whether the second token depends on the first. Tokens are in an order of
  // execution; a long way is taken for a dependence.
  bool Reaches(NodeTokenId from, NodeTokenId to) const {
    constexpr std::size_t kLongest = 64;
    if (from > to) return false;
    std::set<NodeTokenId> open = {to};
    for (std::size_t seen = 0; !open.empty() && seen < kLongest; ++seen) {
      const NodeTokenId at = *open.rbegin();
      if (at == from) return true;
      open.erase(at);
      for (const NodeTokenId source : tokens_[at].sources) {
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
      const std::string_view kind = calls_[i].kind;
      if (!kind.starts_with("BatchNorm") && !kind.starts_with("Dropout") &&
          kind != "Identity") {
        break;
      }
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
    const auto& sources = tokens_[id].sources;
    return std::any_of(sources.begin(), sources.end(), [&](NodeTokenId source) {
      return !made.contains(source);
    });
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
    return std::any_of(callers.begin(), callers.end(), [&](std::size_t at) {
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
  IdVector<NodeTokenId, std::vector<NodeTokenId>> readers_;
};

// The call of the module that the file names for each token, or the first call
// that needs it. In a Sequential, what reads a module's result runs at once.
IdVector<NodeTokenId, std::size_t> CallKeys(
    const NodeTokens& table, const CallTable& call_table,
    const std::vector<const std::string*>& known) {
  const std::vector<CalledModule>& calls = call_table.calls;
  std::set<std::string_view> again;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (call_table.FirstOf(calls[i].module) != i) {
      again.insert(calls[i].module);
    }
  }
  IdVector<NodeTokenId, std::size_t> keys(table.tokens.size(), calls.size());
  for (std::size_t i = keys.size(); i-- > 0;) {
    const NodeTokenId id = MakeId<NodeTokenId>(i);
    const std::string* const module = known[Index(table.tokens[id].node)];
    if (module != nullptr && !again.contains(*module)) {
      const std::size_t call = call_table.FirstOf(*module);
      if (call < calls.size()) keys[id] = call;
    }
    for (const NodeTokenId source : table.tokens[id].sources) {
      keys[source] = std::min(keys[source], keys[id]);
    }
  }
  IdVector<NodeTokenId, bool> in_sequence(keys.size(), false);
  for (const NodeTokenId id : AllIds<NodeTokenId>(keys.size())) {
    const std::string* const module = known[Index(table.tokens[id].node)];
    if (module != nullptr) {
      const std::size_t call = call_table.FirstOf(*module);
      in_sequence[id] =
          call < calls.size() && call_table.IsInTurn(call) && keys[id] == call;
      continue;
    }
    const NodeTokenId source = OnlySource(table.tokens[id]);
    if (source == kNo<NodeTokenId> || !in_sequence[source]) continue;
    keys[id] = keys[source];
    in_sequence[id] = true;
  }
  return keys;
}

// The tokens as they may have run if modules ran in the order of their calls.
NodeTokens SortByCalls(const NodeTokens& table,
                       const IdVector<NodeTokenId, std::size_t>& keys) {
  const std::size_t count = table.tokens.size();
  const auto readers = ReadersOf(table.tokens);
  IdVector<NodeTokenId, std::size_t> waits(count, 0);
  using Item = std::pair<std::size_t, NodeTokenId>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  for (const NodeTokenId id : AllIds<NodeTokenId>(count)) {
    waits[id] = table.tokens[id].sources.size();
    if (waits[id] == 0) ready.emplace(keys[id], id);
  }
  std::vector<NodeTokenId> order;
  while (!ready.empty()) {
    const NodeTokenId id = ready.top().second;
    ready.pop();
    order.push_back(id);
    for (const NodeTokenId reader : readers[id]) {
      if (--waits[reader] == 0) ready.emplace(keys[reader], reader);
    }
  }
  return InOrder(table, order);
}

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
    const NodeTokens table =
        SortByCalls(tokens, CallKeys(tokens, call_table, known));
    StepMatch match = MatchSteps(table, program.steps, BuiltInTorchOps(), {},
                                 KnownTokens(table, program.steps, known));
    if (match.steps_matched <= most) continue;
    most = match.steps_matched;
    projection.score = match.score;
    projection.nodes =
        CallProjector(call_table, known, program, table, std::move(match.steps))
            .Run();
  }
  return projection;
}

}  // namespace onnx_tag
