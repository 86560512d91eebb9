// Places nodes of a file without scopes by the owners of named parameters, the
// execution order and the dataflow.
//
// Module calls are nested, and the file is in execution order. So a node
// between two placed nodes of modules A and B is on the path from A up to their
// common ancestor and down to B. The dataflow shows how far up.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"
#include "mapping/ladder/rungs/layer_bounds.h"
#include "mapping/ladder/rungs/shared_tables.h"

namespace onnx_tag {
namespace {

// Where less than a tenth of a model has names, the root is no answer.
constexpr std::size_t kLeastPlaced = 10;

// Longer than a head, its pooling and its softmax.
constexpr std::size_t kTail = 40;

class ExecutionOrder {
 public:
  ExecutionOrder(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence),
        model_(evidence.model),
        ops_(evidence.graph.ops),
        tree_(evidence.modules),
        placed_(placed),
        module_(evidence.model.node_count(), kNo<ModuleId>),
        readers_(evidence.model.node_count(), kNo<ModuleId>),
        fed_(evidence.model.node_count(), false),
        behind_hidden_(evidence.model.node_count(), false),
        data_(evidence.graph.data),
        bounds_(FindBounds(evidence, placed, data_)),
        own_arithmetic_(tree_.size(), false),
        again_(tree_.size(), false),
        from_book_(evidence.model.node_count(), false) {
    for (const Claims* const claims :
         {&evidence.recipes, &evidence.loose_recipes}) {
      for (const Claim& claim : *claims) from_book_[claim.node] = true;
    }
    for (const Parameter& parameter : evidence.parameters) {
      if (parameter.uses > 0 && !IsPlainParameter(parameter.name)) {
        own_arithmetic_[parameter.module] = true;
      }
      for (ModuleId at = parameter.module;
           parameter.uses > 1 && at != ModuleId{0} && !again_[at];
           at = tree_.Parent(at)) {
        again_[at] = true;
      }
    }
  }

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes())
      module_[node] = placed_[node].module;
    for (const GraphId graph : model_.Graphs()) PlaceData(NodesOf(graph));
    PlaceShared();
    KeepTogether();
    for (const GraphId graph : model_.Graphs()) PlaceSide(NodesOf(graph));
    return std::move(claims_);
  }

 private:
  // As they ran.
  const std::vector<NodeId>& NodesOf(GraphId graph) const {
    return graph == GraphId{0} ? bounds_.order.nodes : model_[graph].nodes;
  }

  bool IsData(NodeId node) const { return data_.IsMadeBy(node); }

  bool HasChildren(ModuleId module) const {
    return !tree_.Children(module).empty();
  }

  ModuleId Callable(ModuleId module) const {
    return evidence_.Callable(module);
  }

  ModuleId Common(ModuleId a, ModuleId b) const {
    return Callable(tree_.CommonAncestor(a, b));
  }

  // A vague likeness to a recording holds nothing.
  bool IsAnchor(NodeId node) const {
    return placed_[node].tagged() && IsData(node) && !IsVague(node);
  }

  bool IsVague(NodeId node) const {
    return placed_[node].confidence == Confidence::kLow && from_book_[node];
  }

  // The module that gets the result of `node`: a leaf has returned to its
  // caller.
  ModuleId Caller(NodeId node) const {
    const ModuleId module = module_[node];
    if (module == kNo<ModuleId> || module == ModuleId{0}) return module;
    if (IsAnchor(node) && !HasChildren(module)) {
      return Callable(tree_.Parent(module));
    }
    return module;
  }

  // The same for the consumer `node`: a layer that has ended has returned, too.
  ModuleId CallerFor(NodeId node, NodeId producer) const {
    const ModuleId module = Caller(producer);
    const ModuleId layer = bounds_.ends[producer];
    const ModuleId inside = bounds_.inside[node];
    if (module == kNo<ModuleId> || layer == kNo<ModuleId> ||
        !tree_.IsAncestor(layer, module) ||
        (inside != kNo<ModuleId> && tree_.IsAncestor(layer, inside))) {
      return module;
    }
    return Callable(tree_.Parent(layer));
  }

  void PlaceData(const std::vector<NodeId>& nodes) {
    std::vector<std::size_t> next(nodes.size() + 1, nodes.size());
    for (std::size_t i = nodes.size(); i-- > 0;) {
      next[i] = IsAnchor(nodes[i]) ? i : next[i + 1];
    }
    FindReaders(nodes);
    FindFed(nodes);
    CountBehindLast(nodes);
    NodeId before = kNo<NodeId>;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeId node = nodes[i];
      if (IsAnchor(node)) before = node;
      if (placed_[node].tagged() || !IsData(node)) continue;
      const std::span<const NodeId> gap =
          std::span(nodes).subspan(i, next[i] - i);
      const NodeId after =
          next[i] == nodes.size() ? kNo<NodeId> : nodes[next[i]];
      const ModuleId converted = ConvertedFrom(node);
      module_[node] =
          converted != kNo<ModuleId> ? converted : Between(gap, before, after);
      if (module_[node] == kNo<ModuleId>) continue;
      claims_.push_back({node, module_[node], Confidence::kLow,
                         Source::kLocality,
                         "it runs between two nodes that are already placed"});
    }
  }

  // A quantizer that a tool put behind a tensor belongs to who made the tensor.
  ModuleId ConvertedFrom(NodeId node) const {
    if (model_.OpType(node) != "DynamicQuantizeLinear") return kNo<ModuleId>;
    const NodeId producer = ProducerOf(model_, FirstInput(model_, node));
    if (producer != kNo<NodeId>) return OutOfShared(module_[producer]);
    return much_is_placed_ ? ModuleId{0} : kNo<ModuleId>;
  }

  bool IsAlone(ModuleId item) const {
    for (const ModuleId other : tree_.Children(tree_.Parent(item))) {
      if (other != item) return false;
    }
    return true;
  }

  // A list that holds one object several times has the object's parameters
  // under its last index. Which item runs is unknown: it is the list's owner
  // that is meant.
  ModuleId OutOfShared(ModuleId module) const {
    ModuleId result = module;
    for (ModuleId at = module; at != kNo<ModuleId> && at != ModuleId{0};
         at = tree_.Parent(at)) {
      if (hierarchy::IsNumeric(tree_.Atom(at)) && again_[at] &&
          !tree_.Children(at).empty() && IsAlone(at)) {
        result = Callable(tree_.Parent(at));
      }
    }
    return result;
  }

  // What several layers run is in none of them.
  void PlaceShared() {
    std::unordered_map<std::uint32_t, ModuleId> moved;
    for (const SharedCalls& calls :
         FindSharedCalls(evidence_, placed_, data_)) {
      ModuleId around = kNo<ModuleId>;
      bool layers = false;
      for (const std::vector<NodeId>& call : calls) {
        const ModuleId module = module_[call.front()];
        if (module == kNo<ModuleId>) continue;
        layers = layers ||
                 (around != kNo<ModuleId> && InAnotherLayer(around, module));
        around = around == kNo<ModuleId> ? module : Common(around, module);
      }
      if (!layers) continue;
      for (const std::vector<NodeId>& call : calls) {
        for (const NodeId node : call) {
          module_[node] = around;
          moved[static_cast<std::uint32_t>(node)] = around;
        }
      }
    }
    for (Claim& claim : claims_) {
      const auto at = moved.find(static_cast<std::uint32_t>(claim.node));
      if (at == moved.end()) continue;
      claim.module = at->second;
      claim.because = "nodes of several layers do the same with the same table";
    }
  }

  // The open node that alone reads the result of `node`, if it is such an
  // operation.
  NodeId OpenReader(NodeId node, std::string_view op) const {
    const NodeId reader = node == kNo<NodeId> ? node : OnlyReader(node);
    return reader != kNo<NodeId> && !placed_[reader].tagged() &&
                   model_.OpType(reader) == op
               ? reader
               : kNo<NodeId>;
  }

  // The only node that reads its data; one that reads its shape is none.
  NodeId OnlyReader(NodeId node) const {
    NodeId found = kNo<NodeId>;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (model_.OpType(reader) == "Shape" || reader == found) continue;
        if (found != kNo<NodeId>) return kNo<NodeId>;
        found = reader;
      }
    }
    return found;
  }

  // The nodes that one module without names became: a GroupNorm around its
  // InstanceNormalization, a SiLU around its Sigmoid.
  std::vector<NodeId> PartAround(NodeId core) const {
    std::vector<NodeId> part;
    if (placed_[core].tagged()) return part;
    if (model_.OpType(core) == "InstanceNormalization") {
      const NodeId before = ProducerOf(model_, FirstInput(model_, core));
      if (before == kNo<NodeId> ||
          OpenReader(before, "InstanceNormalization") != core) {
        return part;
      }
      const NodeId shape = OpenReader(core, "Reshape");
      if (shape == kNo<NodeId> || placed_[before].tagged()) return part;
      part = {before, core, shape};
      const NodeId scale = OpenReader(shape, "Mul");
      const NodeId bias =
          scale == kNo<NodeId> ? scale : OpenReader(scale, "Add");
      if (bias != kNo<NodeId>) part.insert(part.end(), {scale, bias});
    } else if (model_.OpType(core) == "Sigmoid") {
      const NodeId product = OpenReader(core, "Mul");
      if (product == kNo<NodeId>) return part;
      const auto factors = model_.Inputs(product);
      if (std::find(factors.begin(), factors.end(), FirstInput(model_, core)) !=
          factors.end()) {
        part = {core, product};
      }
    }
    return part;
  }

  // Nodes of one module are in one module: in the one that most of them have,
  // or else around all of them.
  void KeepTogether() {
    std::unordered_map<std::uint32_t, ModuleId> moved;
    for (const NodeId core : model_.Nodes()) {
      const std::vector<NodeId> part = PartAround(core);
      if (part.empty()) continue;
      ModuleId module = kNo<ModuleId>;
      ModuleId around = module_[core];
      for (const NodeId node : part) {
        const auto same = static_cast<std::size_t>(std::count_if(
            part.begin(), part.end(),
            [&](NodeId other) { return module_[other] == module_[node]; }));
        if (same * 2 > part.size()) module = module_[node];
        if (around == kNo<ModuleId> || module_[node] == kNo<ModuleId>) {
          around = kNo<ModuleId>;
        } else {
          around = Common(around, module_[node]);
        }
      }
      if (module == kNo<ModuleId>) module = around;
      if (module == kNo<ModuleId>) continue;
      for (const NodeId node : part) {
        if (module_[node] == module) continue;
        module_[node] = module;
        moved[static_cast<std::uint32_t>(node)] = module;
      }
    }
    for (Claim& claim : claims_) {
      const auto at = moved.find(static_cast<std::uint32_t>(claim.node));
      if (at == moved.end()) continue;
      claim.module = at->second;
      claim.because = "the other nodes of the same operation are there";
    }
  }

  void CountBehindLast(const std::vector<NodeId>& nodes) {
    behind_last_ = 0;
    for (std::size_t i = nodes.size(); i-- > 0 && !IsAnchor(nodes[i]);) {
      behind_last_ += IsData(nodes[i]);
      if (HasHiddenWeight(evidence_, nodes[i])) {
        behind_last_ = 0;
        return;
      }
    }
  }

  // The common ancestor of all direct and indirect consumers of a node.
  void FindReaders(const std::vector<NodeId>& nodes) {
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const NodeId node = nodes[i];
      if (IsAnchor(node)) {
        readers_[node] = module_[node];
        continue;
      }
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId consumer : model_.Consumers(output)) {
          readers_[node] = tree_.Join(readers_[node], readers_[consumer]);
        }
      }
    }
  }

  // The nodes that depend on a placed node, and whether much is placed at all.
  void FindFed(const std::vector<NodeId>& nodes) {
    std::size_t anchors = 0;
    std::size_t all = 0;
    for (const NodeId node : nodes) {
      if (!IsData(node)) continue;
      ++all;
      anchors += IsAnchor(node);
      fed_[node] = IsAnchor(node);
      behind_hidden_[node] = HasHiddenWeight(evidence_, node);
      for (const ValueId input : model_.Inputs(node)) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer == kNo<NodeId>) continue;
        fed_[node] = fed_[node] || fed_[producer];
        behind_hidden_[node] = behind_hidden_[node] || behind_hidden_[producer];
      }
    }
    much_is_placed_ = anchors * kLeastPlaced >= all;
  }

  // A part of the model without any name, in an order that may not be the one
  // in which it ran.
  bool IsOutsideNames(std::span<const NodeId> gap) const {
    return !bounds_.order.as_written && !fed_[gap.front()] &&
           (behind_hidden_[gap.front()] ||
            std::any_of(gap.begin(), gap.end(), [&](NodeId node) {
              return HasHiddenWeight(evidence_, node);
            }));
  }

  // The module of the first node of `gap`; the other nodes precede `after`.
  ModuleId Between(std::span<const NodeId> gap, NodeId before,
                   NodeId after) const {
    const NodeId node = gap.front();
    const ModuleId fallback = much_is_placed_ ? ModuleId{0} : kNo<ModuleId>;
    if (IsOutsideNames(gap)) return fallback;
    const ModuleId a = before == kNo<NodeId> ? ModuleId{0} : module_[before];
    const ModuleId b = after == kNo<NodeId> ? ModuleId{0} : module_[after];
    if (a == b && before != kNo<NodeId> && after != kNo<NodeId> &&
        (HasChildren(a) || (ReadsFrom(node, a) && readers_[node] == a))) {
      return a;
    }
    if (before != kNo<NodeId> && after == kNo<NodeId> && IsProgram(gap)) {
      return ModuleId{0};
    }
    const ModuleId around = Around(node, a, b);
    // Before the first placed node and after the last one, the root is only a
    // fallback.
    const ModuleId nowhere =
        before == kNo<NodeId> || after == kNo<NodeId> ? fallback : around;
    const auto on_the_way = [&](ModuleId module) {
      return module != kNo<ModuleId> && tree_.IsAncestor(around, module) &&
             (tree_.IsAncestor(module, a) || tree_.IsAncestor(module, b));
    };
    ModuleId flow = kNo<ModuleId>;     // common ancestor of its producers
    ModuleId deepest = kNo<ModuleId>;  // the deepest module of its producers
    int returned = 0;                  // number of inputs from leaves
    bool continues = false;            // has inputs from nodes placed here
    bool reads_unplaced = false;
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = ProducerOf(model_, input);
      if (producer == kNo<NodeId> || !data_.Contains(input)) continue;
      const ModuleId from = CallerFor(node, producer);
      if (from == kNo<ModuleId>) {
        reads_unplaced = true;
        continue;
      }
      flow = flow == kNo<ModuleId> ? from : Common(flow, from);
      if (!on_the_way(from)) continue;
      if (deepest == kNo<ModuleId> ||
          tree_.Depth(from) > tree_.Depth(deepest)) {
        deepest = from;
        continues = false;
        returned = 0;
      }
      if (from == deepest) {
        continues |= !IsAnchor(producer) && from == Caller(producer);
        ++returned;
      }
    }
    if (flow == kNo<ModuleId> && reads_unplaced) return nowhere;
    if (flow == kNo<ModuleId>) {
      // The first layer cannot make a value that all layers read.
      if (before != kNo<NodeId> && after != kNo<NodeId> &&
          readers_[node] != kNo<ModuleId> &&
          (readers_[node] != b || MeetsOthers(node)) &&
          tree_.IsAncestor(readers_[node], b)) {
        return around;
      }
      const ModuleId module = FromInputs(gap, after, nowhere);
      return before == kNo<NodeId> || on_the_way(module) ? module : around;
    }
    // A weight without a name is an unknown module anywhere on the path.
    if (deepest == kNo<ModuleId> || HasHiddenWeight(evidence_, node))
      return nowhere;
    const bool active = IsActive(gap, deepest);
    if (on_the_way(flow)) {
      // After the last node of a layer, other nodes may precede the next layer.
      const bool leaves = LeavesLayer(around, flow);
      continues = continues && !leaves;
      // Who calls a layer applies the activation, too.
      if (!leaves &&
          (ops_.Is(node, OpKind::kActivation) || ops_.Is(node, {Op::kErf}))) {
        return flow;
      }
      return continues || returned > 1 || active || flow != deepest ? flow
                                                                    : around;
    }
    if (active) return deepest;
    return WhereOldMeetsNew(node, deepest, around);
  }

  // Whether what is made of an input of the model meets what a module made
  // before a module reads it.
  bool MeetsOthers(NodeId node) const {
    constexpr std::size_t kMost = 32;
    std::vector<NodeId> nodes = {node};
    for (std::size_t i = 0; i < nodes.size() && nodes.size() < kMost; ++i) {
      for (const ValueId output : model_.Outputs(nodes[i])) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId reader : model_.Consumers(output)) {
          if (IsAnchor(reader) || !IsData(reader) ||
              std::find(nodes.begin(), nodes.end(), reader) != nodes.end()) {
            continue;
          }
          if (fed_[reader]) return true;
          nodes.push_back(reader);
        }
      }
    }
    return false;
  }

  // Whether it continues what the module made.
  bool ReadsFrom(NodeId node, ModuleId module) const {
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = ProducerOf(model_, input);
      if (producer != kNo<NodeId> && module_[producer] == module) return true;
    }
    return false;
  }

  // Many operations after the last module, without any weight, are the
  // post-processing of the model: selecting boxes, drawing tokens. They do not
  // belong to a module that has run before.
  bool IsProgram(std::span<const NodeId> gap) const {
    return model_[gap.front()].graph == GraphId{0} && behind_last_ > kTail;
  }

  // The module that certainly contains it.
  ModuleId Around(NodeId node, ModuleId a, ModuleId b) const {
    ModuleId around = Common(a, b);
    // Between two nodes of a leaf may run what runs beside it.
    if (around != ModuleId{0} && !HasChildren(around) &&
        !own_arithmetic_[around]) {
      around = Callable(tree_.Parent(around));
    }
    // Where the order is not the one of the run, what is only read elsewhere
    // may run elsewhere.
    if (!bounds_.order.as_written && readers_[node] != kNo<ModuleId>) {
      around = Common(around, readers_[node]);
    }
    const ModuleId bound = bounds_.inside[node];
    return bound != kNo<ModuleId> && tree_.IsAncestor(around, bound)
               ? Callable(bound)
               : around;
  }

  // Whether the path from `module` up to `around` leaves an item of a list.
  bool LeavesLayer(ModuleId around, ModuleId module) const {
    for (ModuleId at = module; at != around && at != ModuleId{0};
         at = tree_.Parent(at)) {
      if (hierarchy::IsNumeric(tree_.Atom(at))) return true;
    }
    return false;
  }

  // The first operations on the model's inputs belong to the common caller of
  // the next node and of their last consumers.
  ModuleId FromInputs(std::span<const NodeId> gap, NodeId after,
                      ModuleId otherwise) const {
    const NodeId node = gap.front();
    if (after == kNo<NodeId> || readers_[node] == kNo<ModuleId>)
      return otherwise;
    // A weight without a name is an unknown module.
    for (const NodeId other : gap) {
      if (HasHiddenWeight(evidence_, other)) return otherwise;
    }
    ModuleId both = Common(module_[after], readers_[node]);
    // A table with the name of another module is tied, and no layer has one.
    const ParameterId table = evidence_.ParameterOf(FirstInput(model_, node));
    if (model_.OpType(node) == "Gather" && table != kNo<ParameterId> &&
        LeavesLayer(ModuleId{0}, both)) {
      both = Common(both, evidence_.parameters[table].module);
    }
    // Who calls the model scales its pixels.
    if (ScalesInput(node) && IsConvolution(after)) return otherwise;
    return both == module_[after] && !HasChildren(both) && both != ModuleId{0}
               ? Callable(tree_.Parent(both))
               : both;
  }

  bool IsConvolution(NodeId node) const {
    return ops_.Is(node, OpKind::kConvolution);
  }

  // Whether it only scales an input of the model, or what such a node made.
  bool ScalesInput(NodeId node) const {
    constexpr std::size_t kMost = 4;
    for (std::size_t steps = 0; steps < kMost; ++steps) {
      const std::string_view op = model_.OpType(node);
      if (op != "Sub" && op != "Div" && op != "Mul" && op != "Add") {
        return false;
      }
      ValueId data = kNo<ValueId>;
      for (const ValueId input : model_.Inputs(node)) {
        if (!data_.Contains(input)) continue;
        if (data != kNo<ValueId>) return false;
        data = input;
      }
      if (data == kNo<ValueId>) return false;
      node = ProducerOf(model_, data);
      if (node == kNo<NodeId>) return true;
    }
    return false;
  }

  // Whether `module` has not returned yet: a later node of the gap reads an
  // earlier value of it.
  bool IsActive(std::span<const NodeId> gap, ModuleId module) const {
    constexpr std::size_t kLookAhead = 200;
    for (const NodeId later :
         gap.subspan(1, std::min(gap.size() - 1, kLookAhead))) {
      for (const ValueId input : model_.Inputs(later)) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer != kNo<NodeId> &&
            bounds_.order.rank[producer] < bounds_.order.rank[gap.front()] &&
            data_.Contains(input) &&
            CallerFor(gap.front(), producer) == module) {
          return true;
        }
      }
    }
    return false;
  }

  // For a residual Add: climbs from the module of the new part to the first
  // ancestor that also uses the old part.
  ModuleId WhereOldMeetsNew(NodeId node, ModuleId deepest,
                            ModuleId around) const {
    for (ModuleId at = deepest; at != around && at != ModuleId{0};
         at = Callable(tree_.Parent(at))) {
      for (const ValueId input : model_.Inputs(node)) {
        if (!data_.Contains(input)) continue;
        for (const NodeId other : model_.Consumers(input)) {
          if (other == node || module_[other] == kNo<ModuleId>) continue;
          const NodeId producer = ProducerOf(model_, input);
          if (producer != kNo<NodeId> && Caller(producer) == deepest) continue;
          if (at != module_[other] && tree_.IsAncestor(at, module_[other])) {
            return at;
          }
        }
      }
    }
    return around;
  }

  // The caller of an embedding makes its indices.
  ModuleId SideReader(NodeId node) const {
    const ModuleId module = module_[node];
    const bool embedding = model_.OpType(node) == "Gather" &&
                           IsPlacedByParameter(evidence_, placed_, node) &&
                           module != ModuleId{0} && !HasChildren(module);
    return embedding ? Callable(tree_.Parent(module)) : module;
  }

  // Constants and shape arithmetic belong to their consumers.
  void PlaceSide(const std::vector<NodeId>& nodes) {
    std::vector<NodeId> before(nodes.size(), kNo<NodeId>);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      before[i] = IsAnchor(nodes[i - 1]) ? nodes[i - 1] : before[i - 1];
    }
    NodeId after = kNo<NodeId>;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const NodeId node = nodes[i];
      if (IsAnchor(node)) after = node;
      if (module_[node] != kNo<ModuleId> || IsData(node)) continue;
      ModuleId module = kNo<ModuleId>;
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId consumer : model_.Consumers(output)) {
          if (module_[consumer] == kNo<ModuleId>) continue;
          const ModuleId reader = SideReader(consumer);
          module = module == kNo<ModuleId> ? reader : Common(module, reader);
        }
      }
      if (module == kNo<ModuleId>) continue;
      // Equal nodes of two layers were merged; the first layer owns the node.
      if (before[i] != kNo<NodeId> && after != kNo<NodeId>) {
        const ModuleId around = Common(module_[before[i]], module_[after]);
        if (InAnotherLayer(around, module)) module = around;
      }
      module_[node] = module;
      claims_.push_back({node, module_[node], Confidence::kLow,
                         Source::kLocality,
                         "its consumers are in this module"});
    }
  }

  // Whether the paths first differ in an index.
  bool InAnotherLayer(ModuleId a, ModuleId b) const {
    const ModuleId common = tree_.CommonAncestor(a, b);
    if (common == a || common == b) return false;
    const auto below = [&](ModuleId at) {
      while (tree_.Parent(at) != common) at = tree_.Parent(at);
      return tree_.Atom(at);
    };
    return hierarchy::IsNumeric(below(a)) && hierarchy::IsNumeric(below(b));
  }

  const Evidence& evidence_;
  const Model& model_;
  const Operators& ops_;
  const ModuleTree& tree_;
  const Placed& placed_;
  IdVector<NodeId, ModuleId> module_;
  IdVector<NodeId, ModuleId> readers_;
  IdVector<NodeId, bool> fed_;            // depends on a placed node
  IdVector<NodeId, bool> behind_hidden_;  // on a weight without a name
  bool much_is_placed_ = false;
  std::size_t behind_last_ = 0;  // data nodes after the last placed node
  const DataValues& data_;
  Bounds bounds_;
  IdVector<ModuleId, bool> own_arithmetic_;
  IdVector<ModuleId, bool> again_;  // has a parameter that is read twice
  IdVector<NodeId, bool> from_book_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeFromExecutionOrder(const Evidence& evidence,
                                             const Placed& placed) {
  return ExecutionOrder(evidence, placed).Run();
}

}  // namespace onnx_tag
