#include "clues/projection/project.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/lists.h"
#include "clues/projection/match_steps.h"
#include "core/graph/neighbours.h"
#include "core/graph/walk.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag {
namespace {

// Leaves out matches that contradict the dataflow.
class Projector {
 public:
  Projector(const NodeTokens& table, const RunSteps& program,
            const StepMatch& match, const TorchOps& ops,
            const KnownModulesOf& known, const GraphFacts& facts)
      : table_(table),
        tokens_(table.tokens),
        program_(program),
        steps_(match.steps),
        ops_(ops),
        facts_(facts),
        model_(facts.model),
        modules_(tokens_.size(), kNo<ModuleId>),
        said_(tokens_.size(), kNo<ModuleId>),
        joined_(model_.node_count(), kNo<ModuleId>),
        readers_(ReadersOf(tokens_)),
        by_head_(FindByHead()) {
    for (const NodeTokenId id : AllIds<NodeTokenId>(known.size())) {
      if (known[id] != nullptr) said_[id] = tree_.Add(*known[id]);
    }
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      const StepId split = SplitAt(id);
      const StepId step = split == kNo<StepId> ? steps_[id] : split;
      if (step == kNo<StepId>) continue;
      joined_[tokens_[id].node] = tree_.Add(program_[step].module);
      if (step != split) modules_[id] = joined_[tokens_[id].node];
    }
  }

  std::vector<ProjectedNode> Run() {
    std::vector<ProjectedNode> nodes;
    std::vector<NodeId> gap;  // nodes since the last match
    StepId last = kNo<StepId>;
    for (const NodeId node : table_.order) {
      const NodeTokenId id = table_.by_node[node];
      const bool found =
          id != kNo<NodeTokenId> && modules_[id] != kNo<ModuleId> &&
          (IsHead(id) ? !(ReadsAnothers(id) || IsReadElsewhere(id))
                      : !(IsStray(id) || IsBeside(id) || IsBefore(id)));
      const StepId split = id == kNo<NodeTokenId> ? kNo<StepId> : SplitAt(id);
      if (split != kNo<StepId>) {
        nodes.push_back({node, program_[split].module, Confidence::kHigh,
                         "it takes another part of a tensor that a recorded "
                         "operation of this module splits",
                         program_[split].traceback});
        continue;
      }
      if (!found) {
        gap.push_back(node);
        continue;
      }
      if (IsInside(id)) {
        nodes.push_back({node,
                         program_[steps_[tokens_[id].sources.front()]].module,
                         Confidence::kHigh,
                         "it joins recorded operations of this module alone"});
        continue;
      }
      const StepId step = steps_[id];
      if (last != kNo<StepId> && RunsAlone(last, step)) {
        const TracebackId traceback = SharedTraceback(last, step);
        for (const NodeId between : Connected(gap, modules_[id])) {
          nodes.push_back({between, program_[step].module, Confidence::kHigh,
                           "it runs between recorded operations of this "
                           "module",
                           traceback});
        }
      } else if (const RunStep* const missed = OnlyMissed(last, step)) {
        for (const NodeId between : gap) {
          if (table_.by_node[between] == kNo<NodeTokenId> ||
              !tokens_[table_.by_node[between]].depends_on_input) {
            continue;
          }
          nodes.push_back({between, missed->module, Confidence::kMedium,
                           "of the operations recorded here, only those of "
                           "this module have no node yet",
                           missed->traceback});
        }
      }
      gap.clear();
      last = step;
      nodes.push_back(
          {node, program_[step].module,
           IsHead(id) ? Confidence::kCertain : Confidence::kHigh,
           IsHead(id) ? "its operation was recorded in this module"
                      : "it is one of the nodes that a recorded operation of "
                        "this module became",
           TracebackOf(id)});
    }
    return nodes;
  }

 private:
  // Exporters write a split as several Slices of one value, and each stands
  // where its part is read. For one that has no step: that of another, or kNo.
  StepId SplitAt(NodeTokenId id) const {
    constexpr std::size_t kMostReaders = 64;
    const NodeToken& token = tokens_[id];
    if (steps_[id] != kNo<StepId> || token.op != Op::kSlice ||
        token.sources.empty()) {
      return kNo<StepId>;
    }
    const auto& readers = readers_[token.sources.front()];
    for (std::size_t i = 0; i < std::min(readers.size(), kMostReaders); ++i) {
      const NodeToken& other = tokens_[readers[i]];
      const StepId step = steps_[readers[i]];
      if (other.op == Op::kSlice && step != kNo<StepId> &&
          other.sources.front() == token.sources.front() &&
          ops_.IsHead(program_[step].pattern, Op::kSplit)) {
        return step;
      }
    }
    return kNo<StepId>;
  }

  // Whether only the module of both steps has operations from `first` to
  // `last`.
  bool RunsAlone(StepId first, StepId last) const {
    for (std::size_t i = Index(first) + 1; i < Index(last); ++i) {
      const RunStep& step = program_[MakeId<StepId>(i)];
      if (step.known && step.pattern.size == 0) continue;
      if (step.module != program_[last].module) return false;
    }
    return program_[first].module == program_[last].module;
  }

  // Those of the nodes that read from the module or are read by it, directly or
  // through one another. Tools move other nodes, such as constants, to this
  // place.
  std::vector<NodeId> Connected(const std::vector<NodeId>& gap,
                                ModuleId module) {
    const auto join = [&](NodeId node) {
      if (HasNeighbourIn(node, module)) joined_[node] = module;
    };
    std::for_each(gap.rbegin(), gap.rend(), join);
    std::for_each(gap.begin(), gap.end(), join);
    std::vector<NodeId> nodes;
    std::copy_if(gap.begin(), gap.end(), std::back_inserter(nodes),
                 [&](NodeId node) {
                   return joined_[node] == module && !ReadsMatrix(node) &&
                          !IsReadOutside(node, module);
                 });
    return nodes;
  }

  // A size that nodes outside the module read, too, is their caller's: a module
  // returns data.
  bool IsReadOutside(NodeId node, ModuleId module) const {
    if (!facts_.ops.Is(node, OpKind::kShapeOf)) return false;
    std::size_t left = 16;  // readers to look at
    for (const NodeId reader : Readers(model_, node)) {
      if (joined_[reader] != module) return true;
      if (--left == 0) break;
    }
    return false;
  }

  // A layer that tools have moved is not a part of what it stands beside.
  bool ReadsMatrix(NodeId node) const {
    const NodeTokenId id = table_.by_node[node];
    return id != kNo<NodeTokenId> && HasMatrix(tokens_[id].weights);
  }

  bool HasNeighbourIn(NodeId node, ModuleId module) const {
    for (const NodeId maker : Makers(model_, node)) {
      if (joined_[maker] == module) return true;
    }
    std::size_t left = 16;  // readers to look at
    for (const NodeId reader : Readers(model_, node)) {
      if (joined_[reader] == module) return true;
      if (--left == 0) break;
    }
    return false;
  }

  // If all steps from one to the other ran in the same line, what is between
  // them did, too.
  TracebackId SharedTraceback(StepId first, StepId last) const {
    const TracebackId shared = program_[first].traceback;
    for (std::size_t i = Index(first) + 1; i <= Index(last); ++i) {
      if (program_[MakeId<StepId>(i)].traceback != shared) {
        return kNo<TracebackId>;
      }
    }
    return shared;
  }

  // torch does not run a cast to the type that a tensor has, so it is recorded
  // nowhere and becomes a part of the next operation. If the operation before
  // it may end with a cast, as in `softmax(x).to(t)`, it ran there.
  TracebackId TracebackOf(NodeTokenId id) const {
    const RunStep& step = program_[steps_[id]];
    if (tokens_[id].op != Op::kCast || IsHead(id) ||
        tokens_[id].sources.size() != 1) {
      return step.traceback;
    }
    const NodeTokenId source = tokens_[id].sources.front();
    if (modules_[source] != modules_[id]) return step.traceback;
    const RunStep& before = program_[steps_[source]];
    return EndsWithCast(before.pattern) ? before.traceback : step.traceback;
  }

  bool EndsWithCast(const TorchPattern& pattern) const {
    return pattern.size > 0 &&
           ops_.Takes(
               MakeId<ElementId>(Index(pattern.first) + pattern.size - 1),
               Op::kCast);
  }

  bool IsHead(NodeTokenId id) const {
    return ops_.IsHead(program_[steps_[id]].pattern, tokens_[id].op);
  }

  // Whether producers and consumers have modules, but none in its layer, or in
  // its module if nothing joins it with what shows its operation. The main node
  // of an operation may be a layer by itself.
  bool IsStray(NodeTokenId id) const {
    bool any = false;
    for (const auto* const ids : {&tokens_[id].sources, &readers_[id]}) {
      for (const NodeTokenId near : *ids) {
        if (modules_[near] == kNo<ModuleId>) continue;
        const bool elsewhere =
            by_head_[id] ? tree_.InOtherLayer(modules_[id], modules_[near])
                         : modules_[id] != modules_[near];
        if (!elsewhere) return false;
        any = true;
      }
    }
    return any;
  }

  // Whether it reads the weight of another module, and its operation none.
  bool ReadsAnothers(NodeTokenId id) const {
    return said_[id] != kNo<ModuleId> && said_[id] != modules_[id] &&
           HasMatrix(tokens_[id].weights) &&
           program_[steps_[id]].weights.empty();
  }

  // Whether it computes no data, and only nodes read it that the file says are
  // of other modules.
  bool IsReadElsewhere(NodeTokenId id) const {
    const auto is_elsewhere = [&](NodeTokenId reader) {
      return said_[reader] != kNo<ModuleId> &&
             !tree_.IsAncestor(modules_[id], said_[reader]);
    };
    return !tokens_[id].depends_on_input && !readers_[id].empty() &&
           AllIn(readers_[id], is_elsewhere);
  }

  // Whether all that it joins is of one module that its operation is around,
  // while the operation joins this with something else: a residual connection
  // that a tool has fused with what follows.
  bool IsInside(NodeTokenId id) const {
    const auto& sources = tokens_[id].sources;
    const RunStep& step = program_[steps_[id]];
    if (sources.size() < 2 || step.sources.size() < 2) return false;
    const ModuleId inner = modules_[sources.front()];
    if (inner == kNo<ModuleId> || inner == modules_[id] ||
        !tree_.IsAncestor(modules_[id], inner)) {
      return false;
    }
    const auto is_inner = [&](NodeTokenId source) {
      return modules_[source] == inner;
    };
    const auto is_outside = [&](StepId source) {
      const ModuleId from = tree_.Find(program_[source].module);
      return from == kNo<ModuleId> || !tree_.IsAncestor(inner, from);
    };
    return AllIn(sources, is_inner) && AnyIn(step.sources, is_outside);
  }

  // Whether it transposes the data that a layer reads: the layer transposes
  // only its weight. What the second layer of one recorded LSTM gives has no
  // step, but is connected with the first.
  bool IsBefore(NodeTokenId id) const {
    return tokens_[id].op == Op::kTranspose && tokens_[id].depends_on_input &&
           HasMatrix(program_[steps_[id]].weights) &&
           !AnyIn(tokens_[id].sources, [&](NodeTokenId source) {
             return steps_[source] == steps_[id] ||
                    (steps_[source] == kNo<StepId> && by_head_[source]);
           });
  }

  // Whether it computes no data, as its operation does, and is not connected
  // with what shows the operation: an Add of sizes is not the Add of a bias,
  // and the first state of the next LSTM no part of this one.
  bool IsBeside(NodeTokenId id) const {
    return (!tokens_[id].depends_on_input &&
            program_[steps_[id]].depends_on_input && !by_head_[id]) ||
           TurnsBack(id);
  }

  // Whether it only undoes the last Transpose of its operation: the next one
  // begins with it.
  bool TurnsBack(NodeTokenId id) const {
    const auto& sources = tokens_[id].sources;
    const auto is_own = [&](NodeTokenId near) {
      return steps_[near] == steps_[id];
    };
    return tokens_[id].op == Op::kTranspose && sources.size() == 1 &&
           tokens_[sources.front()].op == Op::kTranspose &&
           is_own(sources.front()) && !AnyIn(readers_[id], is_own);
  }

  // The tokens that are connected with a main one within their operation. A
  // file may have several main nodes for one operation, such as the layers of
  // an LSTM; only one of them has the step.
  IdVector<NodeTokenId, bool> FindByHead() const {
    IdVector<NodeTokenId, bool> found(tokens_.size(), false);
    IdVector<NodeTokenId, StepId> steps = steps_;
    std::vector<NodeTokenId> open;
    const auto add = [&](NodeTokenId id) {
      if (!found[id]) open.push_back(id);
      found[id] = true;
    };
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps[id] != kNo<StepId> && IsHead(id)) add(id);
    }
    while (!open.empty()) {
      const NodeTokenId at = open.back();
      open.pop_back();
      const StepId step = steps[at];
      for (const auto* const ids : {&tokens_[at].sources, &readers_[at]}) {
        for (const NodeTokenId near : *ids) {
          if (steps[near] == kNo<StepId> &&
              ops_.IsHead(program_[step].pattern, tokens_[near].op)) {
            steps[near] = step;
          }
          if (steps[near] == step) add(near);
        }
      }
    }
    return found;
  }

  const RunStep* OnlyMissed(StepId first, StepId last) const {
    const RunStep* only = nullptr;
    for (std::size_t i = first == kNo<StepId> ? 0 : Index(first) + 1;
         i < Index(last); ++i) {
      const RunStep& step = program_[MakeId<StepId>(i)];
      if (step.known && step.pattern.size == 0) continue;
      if (only != nullptr && step.module != only->module) return nullptr;
      only = &step;
    }
    return only;
  }

  const NodeTokens& table_;
  const IdVector<NodeTokenId, NodeToken>& tokens_;
  const RunSteps& program_;
  const IdVector<NodeTokenId, StepId>& steps_;
  const TorchOps& ops_;
  const GraphFacts& facts_;
  const Model& model_;
  ModuleTree tree_;
  IdVector<NodeTokenId, ModuleId> modules_;
  IdVector<NodeTokenId, ModuleId> said_;  // by the file
  // The modules of matched nodes, and of those connected with them.
  IdVector<NodeId, ModuleId> joined_;
  IdVector<NodeTokenId, std::vector<NodeTokenId>> readers_;
  const IdVector<NodeTokenId, bool> by_head_;
};

// The node "node_linear_3" and the value "linear_3" come from the FX node
// linear_3. A fused node has the name of the last FX node that it replaces: a
// Conv may be called "getitem".
Pins FindPins(const Model& model, const NodeTokens& table,
              const RunSteps& program, const TorchOps& ops) {
  std::unordered_map<std::string_view, StepId> by_name;
  for (const StepId id : AllIds<StepId>(program.size())) {
    if (!program[id].name.empty()) by_name.emplace(program[id].name, id);
  }
  Pins pins(table.tokens.size(), kNo<StepId>);
  for (const NodeTokenId id : AllIds<NodeTokenId>(table.tokens.size())) {
    const NodeToken& token = table.tokens[id];
    const auto at =
        by_name.find(model.ValueName(FirstOutput(model, token.node)));
    if (at != by_name.end() &&
        ops.Accepts(program[at->second].pattern, token.op)) {
      pins[id] = at->second;
    }
  }
  return pins;
}

// Of the file's matrices, those of a shape that the recording has as often; no
// answer if there are few. Recurrent operators and products in a few bits pack
// theirs.
std::optional<double> WeightShare(const GraphFacts& facts,
                                  const NodeTokens& table,
                                  const RunSteps& program) {
  // A vector may have axes of size 1.
  const auto is_matrix = [](const Shape& shape) {
    return shape.size() > 1 && shape[shape.size() - 2] > 1;
  };
  std::map<Shape, int> recorded;
  for (const RunStep& step : program) {
    for (const Shape& shape : step.weights) ++recorded[shape];
  }
  double found = 0;
  double total = 0;
  for (const NodeToken& token : table.tokens) {
    // Their weights are packed: no recorded shape fits.
    if (facts.ops.Is(token.node, OpKind::kRecurrent) ||
        facts.ops.Is(token.node, {Op::kMatMulNBits, Op::kMatMulBnb4})) {
      continue;
    }
    for (const Shape& shape : token.weights) {
      if (!is_matrix(shape)) continue;
      total += 1;
      const auto at = recorded.find(shape);
      if (at != recorded.end() && at->second-- > 0) found += 1;
    }
  }
  constexpr double kFew = 4;
  if (total < kFew) return std::nullopt;
  return found / total;
}

Projection ProjectInOrder(const GraphFacts& facts, const NodeTokens& table,
                          const RunSteps& program,
                          const ProjectionOptions& options) {
  const TorchOps& ops = BuiltInTorchOps();
  const Model& model = facts.model;
  const Pins pins =
      options.names ? FindPins(model, table, program, ops) : Pins();
  KnownModulesOf known;
  if (!options.known.empty()) {
    known = KnownTokens(table, program, options.known);
  }
  const StepMatch match = MatchSteps(table, program, ops, pins, known);
  Projection projection;
  const auto share = [](double part, double whole) {
    return whole > 0 ? part / whole : 0.0;
  };
  projection.file_share = share(match.matched, match.total);
  projection.recorded_share = share(match.steps_matched, match.steps_total);
  projection.score = match.score;
  projection.weight_share = WeightShare(facts, table, program);
  projection.nodes = Projector(table, program, match, ops, known, facts).Run();
  return projection;
}

}  // namespace

Projection Project(const GraphFacts& facts, const RecordedProgram& recorded,
                   const ProjectionOptions& options) {
  const RunSteps program = MakeRunSteps(recorded, BuiltInTorchOps());
  const NodeTokens table = MakeNodeTokens(facts);
  Projection as_written = ProjectInOrder(facts, table, program, options);
  // A file that tools have sorted anew is put in an order of its own, and so
  // is the recording. A large file that fits as it is needs no second look.
  constexpr double kNearlyAll = 0.97;
  constexpr std::size_t kLarge = 20000;
  if (table.tokens.size() > kLarge && as_written.file_share >= kNearlyAll) {
    return as_written;
  }
  Projection sorted = ProjectInOrder(facts, SortDepthFirst(facts.model, table),
                                     SortDepthFirst(program), options);
  // In the wrong order, the patterns of long operations take in what belongs to
  // shorter ones; these are then missing.
  constexpr double kClear = 0.02;
  const double more = sorted.recorded_share - as_written.recorded_share;
  const bool better =
      more > kClear || (more > -kClear && sorted.score > as_written.score);
  return better ? sorted : as_written;
}

}  // namespace onnx_tag
