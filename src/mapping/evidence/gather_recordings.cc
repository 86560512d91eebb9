// What recordings say: the modules of nodes from a recorded run, and from the
// order in which the modules of the user's hierarchy were called; then the
// names of their weights.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "clues/projection/project.h"
#include "core/graph/neighbours.h"
#include "file/model/tensor_data.h"
#include "mapping/evidence/evidence.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

// With a smaller share of the operations, the recording belongs to another
// model or another run (other inputs, another code path).
constexpr double kLeastShare = 0.7;
// Exporters fold and drop operations: BatchNorm, dropout, masks of ones.
constexpr double kLeastRecordedShare = 0.4;

// The same weights are the same model, whatever a tool has fused or removed.
// Other weights are another model: of 666 wrong recordings, 9 had enough of the
// operations, with at most 0.19 of the weights; 144 right ones had 0.53 or
// more.
constexpr double kLeastWeights = 0.8;
constexpr double kOtherWeights = 0.35;
constexpr double kLeastAtAll = 0.25;

void CheckShare(const Projection& projection, std::string_view file) {
  const double operations = projection.file_share;
  const std::optional<double> weights = projection.weight_share;
  if (operations >= kLeastShare &&
      projection.recorded_share >= kLeastRecordedShare &&
      weights.value_or(1) >= kOtherWeights) {
    return;
  }
  if (weights.value_or(0) >= kLeastWeights && operations >= kLeastAtAll) return;
  Fail(
      ErrorKind::kUsage,
      "{}: was recorded from another model: {:.0f} % of the file's operations "
      "are found in it, and {:.0f} % of its operations in the file{}\n  record "
      "the model as it was exported, with the same inputs: {}",
      file, 100 * operations, 100 * projection.recorded_share,
      weights ? fmt::format("; {:.0f} % of the file's matrices have a shape "
                            "that was recorded",
                            100 * *weights)
              : "",
      kRecordCommand);
}

// The most that a match can be trusted. Where tools have reordered and replaced
// operations, it goes wrong in places: on ten models in nine forms, certain was
// right for 95 % of the nodes with a share of 0.8 to 0.9, high for 74 to 78 %
// with 0.7 to 0.8, and for 35 to 85 % with less.
Confidence MostConfidence(double share) {
  if (share >= 0.9) return Confidence::kCertain;
  if (share >= 0.8) return Confidence::kHigh;
  return share >= kLeastShare ? Confidence::kMedium : Confidence::kLow;
}

}  // namespace

FileModules::FileModules(const GraphFacts& graph, const ScopeFacts& scopes,
                         const ParameterFacts& parameters, const Clues& said,
                         const ModuleTree& modules)
    : paths_(modules.size()), of_node_(graph.model.node_count(), nullptr) {
  for (const ModuleId id : AllIds<ModuleId>(paths_.size())) {
    paths_[id] = modules.Path(id);
  }
  for (const NodeId node : graph.model.Nodes()) {
    const Owner owner = parameters.OwnerOf(graph, modules, node);
    if (owner.strength > 1 && !parameters.is_carrier[node]) {
      Set(node, owner.module);
    }
    const ScopeId scope = scopes.ScopeOf(node);
    if (scope != kNo<ScopeId>) Set(node, scopes.scopes[scope].module);
  }
  // The bias says whose the product is, the weight whose the norm is.
  const Composites& composites = graph.composites();
  for (const Composites::Composite& composite : composites) {
    if (IsActivation(composite.kind)) continue;
    const std::string* owner = nullptr;
    for (const NodeId node : composites.Nodes(composite)) {
      if (owner == nullptr) owner = of_node_[Index(node)];
    }
    for (const NodeId node : composites.Nodes(composite)) {
      if (of_node_[Index(node)] == nullptr) of_node_[Index(node)] = owner;
    }
  }
  for (const Clue& fact : said.From(WriterId::kMetadata)) {
    Set(fact.node, fact.module);
  }
}

Tracebacks GatherRecordings(const GraphFacts& graph, const Recording* trace,
                            const Recording* fx, const FileModules& anchors,
                            ModuleTree& modules, Clues& said) {
  Tracebacks tracebacks;
  const auto add = [&](const RecordedProgram& program, const Recording& from,
                       Source source) {
    const Projection projection =
        Project(graph, program, {source == Source::kFx, anchors.of_node()});
    CheckShare(projection, from.file);
    const Confidence most = MostConfidence(projection.file_share);
    for (const ProjectedNode& node : projection.nodes) {
      said.Add(node.confidence == Confidence::kCertain
                   ? WriterId::kRecorded
                   : WriterId::kRecordedPart,
               {node.node, modules.Add(node.module),
                std::min(node.confidence, most), source, node.because});
      const std::string_view traceback = from.Traceback(node.traceback);
      if (!traceback.empty()) {
        tracebacks.emplace_back(node.node, traceback);
      }
    }
  };
  if (trace != nullptr) add(trace->trace, *trace, Source::kTrace);
  if (fx != nullptr) add(fx->fx, *fx, Source::kFx);
  return tracebacks;
}

namespace {

class Calls {
 public:
  Calls(const KnownModules& known, const ModuleTree& modules,
        hierarchy::Dialect dialect)
      : known_(known),
        map_(*known.map),
        modules_(modules),
        by_caller_(hierarchy::IsDynamo(dialect)) {
    for (const ModuleId id : AllIds<ModuleId>(map_.tree.size())) {
      const std::string& first = map_.modules[id].shared_with;
      if (!first.empty()) {
        names_[{map_.tree.Find(first), map_.tree.Parent(id)}] = id;
      }
    }
  }

  std::vector<CalledModule> Make() {
    std::map<ModuleId, std::size_t> last;  // the running call of a module
    for (const ModuleCall& call : map_.calls) {
      CalledModule item;
      const ModuleId name = NameOf(call);
      // A parametrization, or what is outside the part that was exported.
      if (known_.in_file[name] == kNo<ModuleId>) continue;
      item.module = modules_.Path(known_.in_file[name]);
      item.kind = map_.tree.Class(call.module);
      item.only_calls = map_.OnlyHolds(call.module);
      item.has_table = map_.modules[call.module].has_table;
      for (const auto& shape : map_.modules[call.module].shapes) {
        item.weights.push_back(shape);
      }
      const auto caller = last.find(call.caller);
      if (call.caller != kNo<ModuleId> && caller != last.end()) {
        item.caller = caller->second;
        CalledModule& around = calls_[item.caller];
        // Another one than the next item breaks the turn.
        around.in_turn =
            (around.in_turn || !around.calls_others) &&
            (around.only_calls ||
             map_.tree.Atom(name) == std::to_string(items_[item.caller]++));
        around.calls_others = true;
      }
      last[call.module] = calls_.size();
      calls_.push_back(std::move(item));
    }
    return std::move(calls_);
  }

 private:
  // An object with several names: dynamo uses the name by which it was called,
  // TorchScript the first.
  ModuleId NameOf(const ModuleCall& call) const {
    if (!by_caller_) return call.module;
    const auto name = names_.find({call.module, call.caller});
    return name == names_.end() ? call.module : name->second;
  }

  const KnownModules& known_;
  const ModuleMap& map_;
  const ModuleTree& modules_;
  const bool by_caller_;
  // By object and parent: the other names.
  std::map<std::pair<ModuleId, ModuleId>, ModuleId> names_;
  std::vector<CalledModule> calls_;
  std::map<std::size_t, int> items_;  // by call: how many items it has called
};

}  // namespace

void GatherCalls(const GraphFacts& graph, hierarchy::Dialect dialect,
                 const FileModules& anchors, const KnownModules& known,
                 ModuleTree& modules, Clues& said) {
  if (known.map == nullptr || known.map->calls.empty()) return;
  const std::vector<CalledModule> calls = Calls(known, modules, dialect).Make();
  for (const ProjectedNode& node :
       ProjectCalls(graph, calls, anchors.of_node()).nodes) {
    said.Add(WriterId::kCalled,
             {node.node, modules.Add(node.module), node.confidence,
              Source::kHierarchy, node.because});
  }
}

// Names the weights of a file by the user's hierarchy.
//
// Where the node of a module is found, the weights that it reads are the
// module's. The weights between two such nodes belong to modules that run
// there. If all weights of a shape find a parameter in this way and none is
// left, each is given to the module that returns first. Else only those are
// given that have as many candidates as there are weights between the two
// nodes.
namespace {

// The place of a call in the order of all calls, from 1; 0: before all of them.
using CallIndex = std::size_t;

class WeightNamer {
 public:
  WeightNamer(const GraphFacts& graph, const ParameterFacts& parameters,
              const KnownModules& known, const Clues& said,
              const FileModules& anchors, const ModuleTree& modules)
      : graph_(graph),
        model_(graph.model),
        parameters_(parameters),
        known_(known),
        map_(*known.map),
        modules_(modules),
        found_(model_.node_count(), kNo<ModuleId>) {
    FindClues(said);
    // What the file says counts more.
    for (const NodeId node : model_.Nodes()) {
      const std::string* const path = anchors.of_node()[Index(node)];
      if (path != nullptr) found_[node] = modules.Find(*path);
    }
  }

  WeightNames Run() {
    ListRecorded();
    ListWeights();
    FindBounds();
    // Axes of size 1 are dropped by some exporters only.
    GiveByShape([](const WeightShape& shape) { return shape; });
    GiveByShape([](const WeightShape& shape) { return WithoutOnes(shape); });
    std::sort(names_.begin(), names_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return std::move(names_);
  }

 private:
  struct Recorded {
    ModuleId module;  // of the map
    std::string_view attribute;
    WeightShape shape;
    CallIndex begins = 0;   // the first call of its module
    CallIndex returns = 0;  // the next call after the module has returned
    bool given = false;
  };
  struct Weight {
    ValueId value;
    WeightShape shape;
    NodeId reader;
    CallIndex after = 0;   // the last call that is found before it
    CallIndex before = 0;  // the first that is found behind it
    bool named = false;
  };

  // Recorded operations say more than the order of the calls.
  void FindClues(const Clues& said) {
    const auto find = [&](WriterId from) {
      for (const Clue& clue : said.From(from)) found_[clue.node] = clue.module;
    };
    if (said.From(WriterId::kRecorded).empty()) {
      find(WriterId::kCalled);
    } else {
      find(WriterId::kRecorded);
      find(WriterId::kRecordedPart);
    }
  }

  // The parameters of all modules. A module that is never called lends them to
  // the module around it.
  void ListRecorded() {
    const std::size_t size = map_.tree.size();
    IdVector<ModuleId, CallIndex> begins(size, 0);
    IdVector<ModuleId, CallIndex> last(size, 0);
    IdVector<ModuleId, ModuleId> callers(size, kNo<ModuleId>);
    calls_others_.resize(size, false);
    end_ = map_.calls.size() + 1;
    for (std::size_t i = 0; i < map_.calls.size(); ++i) {
      const ModuleCall& call = map_.calls[i];
      if (begins[call.module] == 0) begins[call.module] = i + 1;
      last[call.module] = i + 1;
      // It still runs while what it calls runs.
      ModuleId at = call.caller;
      for (int depth = 0; depth < kDeepest && at != kNo<ModuleId>; ++depth) {
        last[at] = i + 1;
        at = callers[at];
      }
      callers[call.module] = call.caller;
      if (call.caller != kNo<ModuleId>) calls_others_[call.caller] = true;
    }
    for (const ModuleId id : AllIds<ModuleId>(size)) {
      // Parents come before their children.
      if (begins[id] == 0 && id != ModuleTree::kRoot) {
        begins[id] = begins[map_.tree.Parent(id)];
        last[id] = last[map_.tree.Parent(id)];
      }
      const RecordedModule& module = map_.modules[id];
      if (!module.shared_with.empty() || known_.in_file[id] == kNo<ModuleId>) {
        continue;
      }
      const std::size_t count =
          std::min(module.shapes.size(), module.parameters.size());
      for (std::size_t i = 0; i < count; ++i) {
        WeightShape shape = Sorted(module.shapes[i]);
        if (WithoutOnes(shape).empty()) continue;
        of_module_[id].push_back(recorded_.size());
        recorded_.push_back({id, module.parameters[i], std::move(shape),
                             begins[id], last[id] + 1});
      }
    }
    begins_ = std::move(begins);
  }

  // In the order in which they are read, each once.
  void ListWeights() {
    std::set<ValueId> seen;
    for (const NodeId node : model_.Nodes()) {
      if (model_[node].graph != GraphId{0} || parameters_.is_carrier[node]) {
        continue;
      }
      const Operator& op = Describe(graph_.ops[node]);
      const auto inputs = model_.Inputs(node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (op.Input(i) == Operand::kSetting) continue;
        const Initializer* const tensor = WeightOf(inputs[i]);
        if (tensor == nullptr || !seen.insert(tensor->value).second) continue;
        Weight weight{tensor->value, Sorted(model_.Dims(*tensor)), node};
        weight.named =
            parameters_.ParameterOf(tensor->value) != kNo<ParameterId>;
        weights_.push_back(std::move(weight));
      }
    }
  }

  // The tensor that the value is, or that carriers pass on.
  const Initializer* WeightOf(ValueId value) const {
    constexpr int kMostCarriers = 4;
    for (int i = 0; i < kMostCarriers && value != kNo<ValueId>; ++i) {
      if (const Initializer* const tensor = model_.InitializerOf(value)) {
        const bool is_weight = tensor->rank > 0 && IsFloat(tensor->data_type);
        return is_weight ? tensor : nullptr;
      }
      const NodeId maker = model_.Producer(value);
      if (maker == kNo<NodeId> || !parameters_.is_carrier[maker]) {
        return nullptr;
      }
      value = FirstInput(model_, maker);
    }
    return nullptr;
  }

  // The module of the map that the file or the order of calls says for the
  // reader of a weight.
  ModuleId ModuleOf(const Weight& weight) const {
    const ParameterId id = parameters_.ParameterOf(weight.value);
    const ModuleId module = id != kNo<ParameterId>
                                ? parameters_.parameters[id].module
                                : found_[weight.reader];
    return module == kNo<ModuleId> ? module : known_.InMap(module);
  }

  // Names the weights of the nodes that are found. The others are between two
  // of these, as far as the order of nodes and the order of calls agree.
  void FindBounds() {
    std::vector<CallIndex> at(weights_.size(), 0);  // 0: not found
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const ModuleId module = ModuleOf(weights_[i]);
      if (module == kNo<ModuleId>) continue;
      GiveOf(module, weights_[i]);
      // A module that calls others may read its own before or after that.
      if (!calls_others_[module]) at[i] = begins_[module];
    }
    // The longest part of the weights whose calls follow one another.
    std::vector<std::size_t> tails;
    std::vector<std::size_t> previous(weights_.size(), weights_.size());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (at[i] == 0) continue;
      const auto tail = std::upper_bound(
          tails.begin(), tails.end(), at[i],
          [&](CallIndex call, std::size_t k) { return call < at[k]; });
      if (tail != tails.begin()) previous[i] = *std::prev(tail);
      if (tail == tails.end()) {
        tails.push_back(i);
      } else {
        *tail = i;
      }
    }
    std::vector<bool> follows(weights_.size(), false);
    for (std::size_t i = tails.empty() ? weights_.size() : tails.back();
         i < weights_.size(); i = previous[i]) {
      follows[i] = true;
    }
    CallIndex call = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (follows[i]) call = at[i];
      weights_[i].after = call;
    }
    call = end_;
    for (std::size_t i = weights_.size(); i-- > 0;) {
      if (follows[i]) call = at[i];
      weights_[i].before = call;
    }
  }

  // The weight is the module's parameter of this shape, if there is one.
  void GiveOf(ModuleId module, Weight& weight) {
    const auto own = of_module_.find(module);
    if (own == of_module_.end()) return;
    for (const bool exact : {true, false}) {
      for (const std::size_t i : own->second) {
        Recorded& parameter = recorded_[i];
        if (parameter.given || (exact ? parameter.shape != weight.shape
                                      : WithoutOnes(parameter.shape) !=
                                            WithoutOnes(weight.shape))) {
          continue;
        }
        Give(weight, parameter);
        return;
      }
    }
  }

  void Give(Weight& weight, Recorded& parameter) {
    parameter.given = true;
    if (weight.named) return;
    weight.named = true;
    names_.emplace_back(weight.value,
                        modules_.Path(known_.in_file[parameter.module]) + "." +
                            std::string(parameter.attribute));
  }

  template <typename Key>
  void GiveByShape(Key key_of) {
    struct Same {
      std::vector<Weight*> weights;  // in the order of the file
      std::vector<Recorded*> parameters;
    };
    std::map<WeightShape, Same> by_shape;
    for (Weight& weight : weights_) {
      if (!weight.named) {
        by_shape[key_of(weight.shape)].weights.push_back(&weight);
      }
    }
    for (Recorded& parameter : recorded_) {
      const auto same = by_shape.find(key_of(parameter.shape));
      if (same != by_shape.end() && !parameter.given) {
        same->second.parameters.push_back(&parameter);
      }
    }
    for (auto& [shape, same] : by_shape) {
      SortBy(same.parameters, [](const Recorded* one) {
        return std::pair(one->returns, one->begins);
      });
      if (!GiveAll(same.weights, same.parameters)) {
        GiveBetween(same.weights, same.parameters);
      }
    }
  }

  static bool RunsThere(const Recorded& parameter, const Weight& weight) {
    return parameter.begins <= weight.before &&
           parameter.returns >= weight.after;
  }

  // Each weight is given to the module that returns first; false if a weight or
  // a parameter is left. `parameters` are in the order in which they return.
  bool GiveAll(const std::vector<Weight*>& weights,
               const std::vector<Recorded*>& parameters) {
    if (weights.size() != parameters.size()) return false;
    std::vector<Recorded*> chosen;
    std::vector<bool> taken(parameters.size(), false);
    std::size_t first = 0;  // all before it are taken
    for (const Weight* const weight : weights) {
      while (first < taken.size() && taken[first]) ++first;
      std::size_t at = first;
      const std::size_t end = std::min(first + kMostLookedAt, taken.size());
      while (at < end && (taken[at] || !RunsThere(*parameters[at], *weight))) {
        ++at;
      }
      if (at == end) return false;
      taken[at] = true;
      chosen.push_back(parameters[at]);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Give(*weights[i], *chosen[i]);
    }
    return true;
  }

  // The weights between two nodes that are found, if as many parameters may be
  // theirs.
  void GiveBetween(const std::vector<Weight*>& weights,
                   const std::vector<Recorded*>& parameters) {
    for (std::size_t i = 0; i < weights.size();) {
      const Weight& first = *weights[i];
      std::size_t count = 0;
      while (i + count < weights.size() &&
             weights[i + count]->after == first.after &&
             weights[i + count]->before == first.before) {
        ++count;
      }
      auto at = std::lower_bound(
          parameters.begin(), parameters.end(), first.after,
          [](const Recorded* a, CallIndex call) { return a->returns < call; });
      std::vector<Recorded*> there;
      for (std::size_t looked = 0;
           at != parameters.end() && looked < kMostLookedAt &&
           there.size() <= count;
           ++at, ++looked) {
        if (!(*at)->given && RunsThere(**at, first)) there.push_back(*at);
      }
      if (there.size() == count) {
        for (std::size_t k = 0; k < count; ++k) {
          Give(*weights[i + k], *there[k]);
        }
      }
      i += count;
    }
  }

  // Modules return nearly in the order of their calls.
  static constexpr std::size_t kMostLookedAt = 256;
  // No model has calls nested so deep; a broken recording may.
  static constexpr int kDeepest = 128;

  const GraphFacts& graph_;
  const Model& model_;
  const ParameterFacts& parameters_;
  const KnownModules& known_;
  const ModuleMap& map_;
  const ModuleTree& modules_;
  IdVector<NodeId, ModuleId> found_;      // by the order of calls
  IdVector<ModuleId, CallIndex> begins_;  // by module of the map
  IdVector<ModuleId, bool> calls_others_;
  CallIndex end_ = 0;  // behind the last call
  std::vector<Recorded> recorded_;
  std::map<ModuleId, std::vector<std::size_t>> of_module_;
  std::vector<Weight> weights_;
  WeightNames names_;
};

}  // namespace

WeightNames NameWeights(const GraphFacts& graph,
                        const ParameterFacts& parameters,
                        const KnownModules& known, const Clues& said,
                        const FileModules& anchors, const ModuleTree& modules) {
  if (known.map == nullptr || known.map->calls.empty()) return {};
  return WeightNamer(graph, parameters, known, said, anchors, modules).Run();
}

}  // namespace onnx_tag
