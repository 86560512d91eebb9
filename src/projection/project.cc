#include "projection/project.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "projection/match_steps.h"

namespace onnx_tag {
namespace {

// The common ancestor of both modules.
std::string_view CommonCaller(std::string_view a, std::string_view b) {
  std::size_t common = 0;
  for (std::size_t i = 0;; ++i) {
    const bool a_ends = i >= a.size() || a[i] == '.';
    const bool b_ends = i >= b.size() || b[i] == '.';
    if (a_ends && b_ends) common = i;
    if (i >= a.size() || i >= b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, common);
}

// Whether the paths first differ in an index: different layers, or different
// items of a list.
bool OtherLayer(std::string_view a, std::string_view b) {
  const std::size_t common = CommonCaller(a, b).size();
  const auto starts_with_index = [&](std::string_view path) {
    std::string_view rest = path.substr(common);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    return !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
  };
  return starts_with_index(a) && starts_with_index(b);
}

// Removes matches that contradict the dataflow, and places open nodes.
class Projector {
 public:
  Projector(const NodeTokens& table, const RunSteps& program,
            const StepMatch& match, const TorchOps& ops, const Model& model)
      : tokens_(table.tokens),
        program_(program),
        steps_(match.steps),
        ops_(ops),
        model_(model),
        modules_(tokens_.size()),
        called_(tokens_.size(), false),
        readers_(tokens_.size()) {
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      for (const NodeTokenId source : tokens_[id].sources) {
        readers_[source].push_back(id);
      }
    }
  }

  void Run(Projection& projection) {
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (steps_[id] == kNo<StepId>) continue;
      modules_[id] = program_[steps_[id]].module;
    }
    DropStrays();
    const auto found = modules_;
    FillGaps();
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (!modules_[id]) continue;
      projection.nodes.push_back(
          {tokens_[id].node, *modules_[id],
           !found[id]   ? (called_[id] ? ProjectionTrust::kCaller
                                       : ProjectionTrust::kBetween)
           : IsHead(id) ? ProjectionTrust::kFound
                        : ProjectionTrust::kPart});
    }
  }

 private:
  bool IsHead(NodeTokenId id) const {
    const TorchPattern& pattern = program_[steps_[id]].pattern;
    for (std::uint32_t i = 0; i < pattern.size; ++i) {
      const PatternElement& element =
          ops_.elements()[MakeId<ElementId>(Index(pattern.first) + i)];
      if (!element.heads) continue;
      const auto& taken = element.operators;
      return std::find(taken.begin(), taken.end(),
                       PlainOperator(model_.Name(tokens_[id].op))) !=
             taken.end();
    }
    return false;
  }

  // If no producer or consumer of a node is in its layer, the match is removed.
  // Exception: the main node of an operation, because a layer may consist of a
  // single node.
  void DropStrays() {
    std::vector<NodeTokenId> strays;
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (modules_[id] && !IsHead(id) && IsStray(id)) strays.push_back(id);
    }
    for (const NodeTokenId id : strays) modules_[id].reset();
  }

  bool IsStray(NodeTokenId id) const {
    bool any = false;
    for (const auto* const ids : {&tokens_[id].sources, &readers_[id]}) {
      for (const NodeTokenId near : *ids) {
        if (!modules_[near]) continue;
        if (!OtherLayer(*modules_[id], *modules_[near])) return false;
        any = true;
      }
    }
    return any;
  }

  // The module of the placed tokens in `ids`; nullopt if they differ or there
  // are none.
  std::optional<std::string_view> Agreed(
      const std::vector<NodeTokenId>& ids) const {
    std::optional<std::string_view> agreed;
    for (const NodeTokenId id : ids) {
      if (!modules_[id]) continue;
      if (agreed && *agreed != *modules_[id]) return std::nullopt;
      agreed = modules_[id];
    }
    return agreed;
  }

  // Places tokens between matched tokens: a token at the place of skipped steps
  // gets the module of these steps.
  void FillGaps() {
    std::vector<NodeTokenId> gap;
    NodeTokenId before = kNo<NodeTokenId>;
    for (const NodeTokenId id : AllIds<NodeTokenId>(tokens_.size())) {
      if (!modules_[id]) {
        gap.push_back(id);
        continue;
      }
      FillGap(gap, before, id);
      gap.clear();
      before = id;
    }
    FillGap(gap, before, kNo<NodeTokenId>);
  }

  void FillGap(const std::vector<NodeTokenId>& gap, NodeTokenId before,
               NodeTokenId after) {
    if (gap.empty()) return;
    const std::optional<std::string_view> skipped = Skipped(before, after);
    for (const NodeTokenId id : gap) {
      modules_[id] = Guess(id, before, after, skipped);
      // Equal values are computed once. Then the place indicates one layer, but
      // the consumer another.
      const auto to = Agreed(readers_[id]);
      if (modules_[id] && to && OtherLayer(*modules_[id], *to)) {
        modules_[id] = CommonCaller(*modules_[id], *to);
        called_[id] = true;
      }
    }
    // An operation between two modules belongs to their caller.
    for (const NodeTokenId id : gap) {
      if (modules_[id]) continue;
      const auto from = Agreed(tokens_[id].sources);
      const auto to = Agreed(readers_[id]);
      if (!from || !to) continue;
      modules_[id] = CommonCaller(*from, *to);
      called_[id] = true;
    }
  }

  // The module of the skipped steps between two matched tokens.
  std::optional<std::string_view> Skipped(NodeTokenId before,
                                          NodeTokenId after) const {
    const std::size_t first =
        before == kNo<NodeTokenId> ? 0 : Index(steps_[before]) + 1;
    const std::size_t last =
        after == kNo<NodeTokenId> ? program_.size() : Index(steps_[after]);
    std::optional<std::string_view> module;
    for (std::size_t i = first; i < last; ++i) {
      const RunStep& step = program_[MakeId<StepId>(i)];
      if (step.known && step.pattern.size == 0) continue;
      if (module && *module != step.module) return std::nullopt;
      module = step.module;
    }
    return module;
  }

  std::optional<std::string_view> Guess(
      NodeTokenId id, NodeTokenId before, NodeTokenId after,
      const std::optional<std::string_view>& skipped) const {
    const auto from = Agreed(tokens_[id].sources);
    const auto to = Agreed(readers_[id]);
    if (from && to && *from == *to) return from;
    if (skipped && ((from && *from == *skipped) || (to && *to == *skipped))) {
      return skipped;
    }
    std::optional<std::string_view> around;
    if (before != kNo<NodeTokenId> && after != kNo<NodeTokenId> &&
        *modules_[before] == *modules_[after]) {
      around = modules_[before];
    }
    if (around && ((from && *from == *around) || (to && *to == *around))) {
      return around;
    }
    if (skipped) return skipped;
    if (around) return around;
    return std::nullopt;
  }

  const IdVector<NodeTokenId, NodeToken>& tokens_;
  const RunSteps& program_;
  const IdVector<NodeTokenId, StepId>& steps_;
  const TorchOps& ops_;
  const Model& model_;
  IdVector<NodeTokenId, std::optional<std::string_view>> modules_;
  IdVector<NodeTokenId, bool> called_;  // by CommonCaller
  IdVector<NodeTokenId, std::vector<NodeTokenId>> readers_;
};

// The node "node_linear_3" and the value "linear_3" come from the FX node
// linear_3.
Pins FindPins(const Model& model, const NodeTokens& table,
              const RunSteps& program) {
  std::unordered_map<std::string_view, StepId> by_name;
  for (const StepId id : AllIds<StepId>(program.size())) {
    if (!program[id].name.empty()) by_name.emplace(program[id].name, id);
  }
  Pins pins(table.tokens.size(), kNo<StepId>);
  for (const NodeTokenId id : AllIds<NodeTokenId>(table.tokens.size())) {
    const NodeId node = table.tokens[id].node;
    const auto outputs = model.Outputs(node);
    if (outputs.empty() || outputs[0] == kNo<ValueId>) continue;
    const auto at = by_name.find(model.ValueName(outputs[0]));
    if (at != by_name.end()) pins[id] = at->second;
  }
  return pins;
}

// Of the file's matrices, those of a shape that the recording has as often.
double WeightShare(const NodeTokens& table, const RunSteps& program) {
  std::map<Shape, int> recorded;
  for (const RunStep& step : program) {
    for (const Shape& shape : step.weights) ++recorded[shape];
  }
  double found = 0;
  double total = 0;
  for (const NodeToken& token : table.tokens) {
    for (const Shape& shape : token.weights) {
      if (shape.size() < 2) continue;
      total += 1;
      const auto at = recorded.find(shape);
      if (at != recorded.end() && at->second-- > 0) found += 1;
    }
  }
  return total > 0 ? found / total : 0;
}

Projection ProjectInOrder(const Model& model, const NodeTokens& table,
                          const RunSteps& program,
                          const ProjectionOptions& options) {
  const TorchOps& ops = BuiltInTorchOps();
  const Pins pins = options.names ? FindPins(model, table, program) : Pins();
  KnownModulesOf known;
  if (!options.known.empty()) {
    known = KnownTokens(table, program, options.known);
  }
  const StepMatch match = MatchSteps(model, table, program, ops, pins, known);
  Projection projection;
  const auto share = [](double part, double whole) {
    return whole > 0 ? part / whole : 0.0;
  };
  projection.file_share = share(match.matched, match.total);
  projection.recorded_share = share(match.steps_matched, match.steps_total);
  projection.score = match.score;
  projection.weight_share = WeightShare(table, program);
  Projector(table, program, match, ops, model).Run(projection);
  projection.order = table.order;
  return projection;
}

}  // namespace

Projection Project(const Model& model, const RecordedProgram& recorded,
                   const ProjectionOptions& options) {
  const RunSteps program = MakeRunSteps(recorded, BuiltInTorchOps());
  const NodeTokens table = MakeNodeTokens(model);
  Projection as_written = ProjectInOrder(model, table, program, options);
  // A file that tools have sorted anew is put in an order of its own, and so
  // is the recording. A large file that fits as it is needs no second look.
  constexpr double kNearlyAll = 0.97;
  constexpr std::size_t kLarge = 20000;
  if (table.tokens.size() > kLarge && as_written.file_share >= kNearlyAll) {
    return as_written;
  }
  Projection sorted = ProjectInOrder(model, SortDepthFirst(model, table),
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
