// Places nodes of a file without scopes by the owners of named parameters, the
// execution order and the dataflow.
//
// Module calls are nested, and the file is in execution order. So a node
// between two placed nodes of modules A and B is on the path from A up to their
// common ancestor and down to B. The dataflow shows how far up.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/rungs/layer_bounds.h"
#include "mapping/ladder/rungs/rung_base.h"
#include "mapping/ladder/rungs/shared_tables.h"

namespace onnx_tag {
namespace {

// Where less than a tenth of a model has names, the root is no answer.
constexpr std::size_t kPlacedAtLeastOneIn = 10;

// Longer than a head, its pooling and its softmax.
constexpr std::size_t kTail = 40;

class GapPlacer : RungBase {
 public:
  GapPlacer(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        module_(model_.node_count(), kNo<ModuleId>),
        because_(model_.node_count()),
        readers_(model_.node_count(), kNo<ModuleId>),
        fed_(model_.node_count(), false),
        behind_hidden_(model_.node_count(), false),
        bounds_(FindBounds(evidence, placed)),
        again_(tree_.size(), false),
        from_book_(model_.node_count(), false) {
    for (const WriterId from : {WriterId::kRecipe, WriterId::kLooseRecipe}) {
      for (const Clue& clue : evidence.said.From(from)) {
        from_book_[clue.node] = true;
      }
    }
    for (const Parameter& parameter : evidence.parameters) {
      for (ModuleId at = parameter.module;
           parameter.uses > 1 && at != kRoot && !again_[at];
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
    for (const NodeId node : model_.Nodes()) {
      if (module_[node] == kNo<ModuleId>) continue;
      Propose(node, module_[node], Confidence::kLow, Source::kLocality,
              because_[node]);
    }
    return std::move(claims_);
  }

 private:
  // A node without a place, and the nodes behind it up to the next placed one.
  struct Gap {
    std::span<const NodeId> nodes;
    NodeId before;    // the last placed node, or kNo
    NodeId after;     // the next placed node, or kNo
    bool has_weight;  // one of the nodes computes with a weight
    NodeId node() const { return nodes.front(); }
    bool is_between() const {
      return before != kNo<NodeId> && after != kNo<NodeId>;
    }
  };

  // As they ran.
  const std::vector<NodeId>& NodesOf(GraphId graph) const {
    return graph == GraphId{0} ? bounds_.order.nodes : model_[graph].nodes;
  }

  ModuleId Common(ModuleId a, ModuleId b) const {
    return evidence_.CommonCaller(a, b);
  }

  // A vague likeness to a recording holds nothing.
  bool IsAnchor(NodeId node) const {
    return !IsOpen(node) && IsData(node) &&
           (IsKnown(node) || !from_book_[node]);
  }

  ModuleId Caller(NodeId node) const {
    const ModuleId module = module_[node];
    return module == kNo<ModuleId> || !IsAnchor(node) ? module
                                                      : AfterReturn(module);
  }

  void Put(NodeId node, ModuleId module, std::string_view because) {
    module_[node] = module;
    because_[node] = because;
  }

  void PlaceData(const std::vector<NodeId>& nodes) {
    std::vector<std::size_t> next(nodes.size() + 1, nodes.size());
    std::vector<bool> has_weight(nodes.size() + 1, false);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      next[i] = IsAnchor(nodes[i]) ? i : next[i + 1];
      has_weight[i] =
          next[i] != i && (has_weight[i + 1] || ReadsConstantWeight(nodes[i]));
    }
    FindReaders(nodes);
    FindFed(nodes);
    CountBehindLast(nodes);
    NodeId before = kNo<NodeId>;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeId node = nodes[i];
      if (IsAnchor(node)) before = node;
      if (!IsOpen(node) || !IsData(node)) continue;
      const NodeId after =
          next[i] == nodes.size() ? kNo<NodeId> : nodes[next[i]];
      const ModuleId converted = ConvertedFrom(node);
      Put(node,
          converted != kNo<ModuleId>
              ? converted
              : Between({std::span(nodes).subspan(i, next[i] - i), before,
                         after, has_weight[i]}),
          "it runs between two nodes that are already placed");
    }
    PlaceAsLater(nodes);
  }

  // What precedes the first modules belongs to who makes the same again,
  // further out: a graph of the nearest neighbours.
  void PlaceAsLater(const std::vector<NodeId>& nodes) {
    constexpr int kMostReaders = 4;
    constexpr int kMostOthers = 64;
    std::vector<NodeId> anchors = nodes;
    std::erase_if(anchors, [&](NodeId node) { return !IsAnchor(node); });
    const auto is_open = [&](NodeId maker) {
      return maker != kNo<NodeId> && IsOpen(maker);
    };
    int readers = 0;
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      const NodeId first = FirstMaker(anchors[i]);
      if (!is_open(first) || fed_[first]) continue;
      if (++readers > kMostReaders) return;
      int others = 0;
      for (std::size_t k = i + 1; k < anchors.size(); ++k) {
        if (!is_open(FirstMaker(anchors[k]))) continue;
        if (++others > kMostOthers || PlaceLike(anchors[i], anchors[k])) break;
      }
    }
  }

  // Whether the same operations, many of them, run in one module behind
  // `other`. They are then of this module behind `reader`, too.
  bool PlaceLike(NodeId reader, NodeId other) {
    constexpr std::size_t kLeast = 8;
    constexpr std::size_t kMost = 256;
    auto pairs = SameBefore(reader, other, kMost, [&](NodeId a, NodeId b) {
      return IsOpen(a) && IsOpen(b) && !fed_[a] && IsData(a) &&
             !ReadsConstantWeight(a);
    });
    if (pairs.size() <= kLeast) return false;
    pairs.erase(pairs.begin());
    const ModuleId module = module_[pairs.front().second];
    if (module == kNo<ModuleId>) return false;
    for (const auto& [node, like] : pairs) {
      if (module_[like] != module) return false;
    }
    for (const auto& [node, like] : pairs) {
      const ModuleId old = module_[node];
      if (old != kNo<ModuleId> && old != module &&
          tree_.IsAncestor(module, old)) {
        Put(node, module, "this module runs the same operations again");
      }
    }
    return true;
  }

  // A quantizer that a tool put behind a tensor belongs to who made the tensor.
  ModuleId ConvertedFrom(NodeId node) const {
    const NodeId maker = FirstMaker(node);
    if (!ops_.Is(node, OpKind::kQuantizer) &&
        !(ops_.Is(node, OpKind::kDequantizer) &&
          ops_.Is(maker, OpKind::kQuantizer))) {
      return kNo<ModuleId>;
    }
    if (maker != kNo<NodeId>) return OutOfShared(module_[maker]);
    return much_is_placed_ && ops_[node] == Op::kDynamicQuantizeLinear
               ? kRoot
               : kNo<ModuleId>;
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
    for (ModuleId at = module; at != kNo<ModuleId> && at != kRoot;
         at = tree_.Parent(at)) {
      if (hierarchy::IsNumeric(tree_.Atom(at)) && again_[at] && !IsLeaf(at) &&
          IsAlone(at)) {
        result = Callable(tree_.Parent(at));
      }
    }
    return result;
  }

  // What several layers run is in none of them.
  void PlaceShared() {
    for (const SharedCalls& calls : FindSharedCalls(evidence_, placed_)) {
      ModuleId around = kNo<ModuleId>;
      bool layers = false;
      for (const std::vector<NodeId>& call : calls) {
        const ModuleId module = module_[call.front()];
        layers |= around != kNo<ModuleId> && module != kNo<ModuleId> &&
                  tree_.InOtherLayer(around, module);
        around = Join(around, module);
      }
      if (!layers) continue;
      for (const std::vector<NodeId>& call : calls) {
        for (const NodeId node : call) {
          Put(node, around,
              "nodes of several layers do the same with the same table");
        }
      }
    }
  }

  // Nodes of one GroupNorm are in one module: in the one that most of them
  // have, or else around all of them. Where quantizers stand between them, and
  // for other norms and activations, each node is right more often by itself.
  void KeepTogether() {
    const Composites& composites = evidence_.graph.composites();
    for (const Composites::Composite& composite : composites) {
      if (composite.kind != CompositeKind::kGroupNorm) continue;
      std::vector<NodeId> nodes;
      for (const NodeId node : composites.Nodes(composite)) {
        bool goes_along = nodes.empty();
        for (const NodeId maker : MakersOf(node)) {
          goes_along |= IsAmong(maker, nodes);
        }
        if (goes_along && module_[node] != kNo<ModuleId>) nodes.push_back(node);
      }
      ModuleId module = kNo<ModuleId>;
      for (const NodeId node : nodes) module = Join(module, module_[node]);
      for (const NodeId node : nodes) {
        const std::size_t same = CountIn(nodes, [&](NodeId other) {
          return module_[other] == module_[node];
        });
        if (same * 2 > nodes.size()) {
          module = module_[node];
        }
      }
      for (const NodeId node : nodes) {
        if (!IsOpen(node) || module_[node] == module) continue;
        Put(node, module, "the other nodes of the same operation are there");
      }
    }
  }

  void CountBehindLast(const std::vector<NodeId>& nodes) {
    behind_last_ = 0;
    for (std::size_t i = nodes.size(); i-- > 0 && !IsAnchor(nodes[i]);) {
      behind_last_ += IsData(nodes[i]);
      if (ReadsConstantWeight(nodes[i])) {
        behind_last_ = 0;
        return;
      }
    }
  }

  // The common ancestor of all direct and indirect consumers of a node.
  void FindReaders(const std::vector<NodeId>& nodes) {
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const NodeId node = nodes[i];
      ModuleId& all = readers_[node];
      if (IsAnchor(node)) {
        all = module_[node];
        continue;
      }
      for (const NodeId reader : ReadersOf(node)) {
        const ModuleId module = readers_[reader];
        if (module == kNo<ModuleId>) continue;
        all = all == kNo<ModuleId> ? module : tree_.CommonAncestor(all, module);
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
      behind_hidden_[node] = ReadsConstantWeight(node);
      for (const NodeId maker : Makers(model_, node)) {
        fed_[node] = fed_[node] || fed_[maker];
        behind_hidden_[node] = behind_hidden_[node] || behind_hidden_[maker];
      }
    }
    much_is_placed_ = anchors * kPlacedAtLeastOneIn >= all;
  }

  // A part of the model without any name, in an order that may not be the one
  // in which it ran.
  bool IsOutsideNames(const Gap& gap) const {
    return !bounds_.order.as_written && !fed_[gap.node()] &&
           (behind_hidden_[gap.node()] || gap.has_weight);
  }

  // The module of the first node of `gap`.
  ModuleId Between(const Gap& gap) const {
    const NodeId node = gap.node();
    const ModuleId fallback = much_is_placed_ ? kRoot : kNo<ModuleId>;
    if (IsOutsideNames(gap)) return fallback;
    const ModuleId a = gap.before == kNo<NodeId> ? kRoot : module_[gap.before];
    const ModuleId b = gap.after == kNo<NodeId> ? kRoot : module_[gap.after];
    if (gap.before != kNo<NodeId> && gap.after == kNo<NodeId> &&
        IsProgram(node)) {
      return kRoot;
    }
    const ModuleId around = Around(node, a, b);
    // Before the first placed node and after the last one, the root is only a
    // fallback.
    const ModuleId nowhere = gap.is_between() ? around : fallback;
    const auto on_the_way = [&](ModuleId module) {
      return module != kNo<ModuleId> && tree_.IsAncestor(around, module) &&
             (tree_.IsAncestor(module, a) || tree_.IsAncestor(module, b));
    };
    ModuleId flow = kNo<ModuleId>;     // common ancestor of its producers
    ModuleId deepest = kNo<ModuleId>;  // the deepest module of its producers
    int returned = 0;                  // number of inputs from leaves
    bool continues = false;            // has inputs from nodes placed here
    for (const NodeId maker : MakersOf(node)) {
      const ModuleId from = Caller(maker);
      flow = Join(flow, from);
      if (!on_the_way(from)) continue;
      if (deepest == kNo<ModuleId> ||
          tree_.Depth(from) > tree_.Depth(deepest)) {
        deepest = from;
        continues = false;
        returned = 0;
      }
      if (from == deepest) {
        continues |= !IsAnchor(maker);
        ++returned;
      }
    }
    if (flow == kNo<ModuleId>) {
      // The first layer cannot make a value that all layers read.
      if (gap.is_between() && readers_[node] != kNo<ModuleId> &&
          (readers_[node] != b || MeetsOthers(node)) &&
          tree_.IsAncestor(readers_[node], b)) {
        return around;
      }
      const ModuleId module = FromInputs(gap, nowhere);
      return gap.before == kNo<NodeId> || on_the_way(module) ? module : around;
    }
    if (deepest == kNo<ModuleId> && IsPassingBy(node, around)) {
      return Join(flow, readers_[node]);
    }
    // A weight without a name is an unknown module anywhere on the path.
    if (deepest == kNo<ModuleId> || ReadsConstantWeight(node)) return nowhere;
    const bool active = IsActive(gap.nodes, deepest);
    if (on_the_way(flow)) {
      // After the last node of a layer, other nodes may precede the next layer.
      const bool leaves = LeavesLayer(around, flow);
      continues = continues && !leaves;
      // Who calls a layer applies the activation, too.
      if (!leaves &&
          (ops_.Is(node, OpKind::kActivation) || ops_[node] == Op::kErf)) {
        return flow;
      }
      return continues || returned > 1 || active || flow != deepest ? flow
                                                                    : around;
    }
    if (active) return deepest;
    return WhereOldMeetsNew(node, deepest, around);
  }

  // Whether it only stands beside nodes of the module: no node there makes what
  // it reads, and none reads what it makes. Tools sort nodes of branches anew.
  bool IsPassingBy(NodeId node, ModuleId module) const {
    if (module == kRoot || ReadsConstantWeight(node)) return false;
    const ModuleId reader = readers_[node];
    if (reader != kNo<ModuleId> && (tree_.IsAncestor(module, reader) ||
                                    tree_.IsAncestor(reader, module))) {
      return false;
    }
    for (const NodeId maker : MakersOf(node)) {
      const ModuleId from = module_[maker];
      if (from == kNo<ModuleId> || tree_.IsAncestor(module, from)) return false;
    }
    return true;
  }

  // Whether what is made of an input of the model meets what a module made
  // before a module reads it.
  bool MeetsOthers(NodeId node) const {
    constexpr std::size_t kMostEdges = 64;
    bool meets = false;
    WalkOn(node, kMostEdges, [&](NodeId reader) {
      if (meets || IsAnchor(reader) || !IsData(reader)) return false;
      meets = fed_[reader];
      return !meets;
    });
    return meets;
  }

  // Many operations after the last module, without any weight, are the
  // post-processing of the model: selecting boxes, drawing tokens. They do not
  // belong to a module that has run before.
  bool IsProgram(NodeId node) const {
    return model_[node].graph == GraphId{0} && behind_last_ > kTail;
  }

  // The module that certainly contains it.
  ModuleId Around(NodeId node, ModuleId a, ModuleId b) const {
    // Between two nodes of a leaf may run what runs beside it.
    ModuleId around = AfterReturn(Common(a, b));
    // Where the order is not the one of the run, what is only read elsewhere
    // may run elsewhere.
    if (!bounds_.order.as_written) around = Join(around, readers_[node]);
    const ModuleId bound = bounds_.inside[node];
    return bound != kNo<ModuleId> && tree_.IsAncestor(around, bound)
               ? Callable(bound)
               : around;
  }

  // Whether the path from `module` up to `around` leaves an item of a list.
  bool LeavesLayer(ModuleId around, ModuleId module) const {
    for (ModuleId at = module; at != around && at != kRoot;
         at = tree_.Parent(at)) {
      if (hierarchy::IsNumeric(tree_.Atom(at))) return true;
    }
    return false;
  }

  // The first operations on the model's inputs belong to the common caller of
  // the next node and of their last consumers.
  ModuleId FromInputs(const Gap& gap, ModuleId otherwise) const {
    const NodeId node = gap.node();
    // A weight without a name is an unknown module.
    if (gap.after == kNo<NodeId> || readers_[node] == kNo<ModuleId> ||
        gap.has_weight) {
      return otherwise;
    }
    ModuleId both = Common(module_[gap.after], readers_[node]);
    // A table with the name of another module is tied, and no layer has one.
    const ParameterId table = evidence_.ParameterOf(FirstInput(model_, node));
    if (ops_[node] == Op::kGather && table != kNo<ParameterId> &&
        LeavesLayer(kRoot, both)) {
      both = Common(both, evidence_.parameters[table].module);
    }
    // Who calls the model scales its pixels.
    if (ScalesInput(node) && ops_.Is(gap.after, OpKind::kConvolution)) {
      return otherwise;
    }
    return both == module_[gap.after] ? AfterReturn(both) : both;
  }

  // Whether it only scales an input of the model, or what such a node made.
  bool ScalesInput(NodeId node) const {
    constexpr std::size_t kMost = 4;
    for (std::size_t steps = 0; steps < kMost; ++steps) {
      if (!ops_.Is(node, {Op::kSub, Op::kDiv, Op::kMul, Op::kAdd})) {
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
    const IdVector<NodeId, std::uint32_t>& rank = bounds_.order.rank;
    for (const NodeId later :
         gap.subspan(1, std::min(gap.size() - 1, kLookAhead))) {
      for (const NodeId maker : MakersOf(later)) {
        if (rank[maker] < rank[gap.front()] && Caller(maker) == module) {
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
    constexpr std::size_t kMostReaders = 64;
    for (ModuleId at = deepest; at != around && at != kRoot;
         at = Callable(tree_.Parent(at))) {
      for (const ValueId input : model_.Inputs(node)) {
        if (!data_.Contains(input)) continue;
        const NodeId maker = ProducerOf(model_, input);
        if (maker != kNo<NodeId> && Caller(maker) == deepest) continue;
        const auto readers = model_.Consumers(input);
        for (const NodeId other :
             readers.first(std::min(readers.size(), kMostReaders))) {
          if (other != node && module_[other] != kNo<ModuleId> &&
              at != module_[other] && tree_.IsAncestor(at, module_[other])) {
            return at;
          }
        }
      }
    }
    return around;
  }

  // Constants and shape arithmetic belong to their consumers.
  void PlaceSide(const std::vector<NodeId>& nodes) {
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const NodeId node = nodes[i];
      if (module_[node] != kNo<ModuleId> || IsData(node)) continue;
      ModuleId module = kNo<ModuleId>;
      for (const NodeId reader : ReadersOf(node)) {
        module = Join(module, module_[reader]);
      }
      if (module == kNo<ModuleId>) continue;
      Put(node, module, "its consumers are in this module");
    }
  }

  IdVector<NodeId, ModuleId> module_;
  IdVector<NodeId, std::string_view> because_;
  IdVector<NodeId, ModuleId> readers_;
  IdVector<NodeId, bool> fed_;            // depends on a placed node
  IdVector<NodeId, bool> behind_hidden_;  // on a weight without a name
  bool much_is_placed_ = false;
  std::size_t behind_last_ = 0;  // data nodes after the last placed node
  Bounds bounds_;
  IdVector<ModuleId, bool> again_;  // has a parameter that is read twice
  IdVector<NodeId, bool> from_book_;
};

// What the recipe book says, but where the file's own parameters show that a
// node is deeper inside.
std::vector<Claim> WithinBounds(const Evidence& evidence, const Placed& placed,
                                WriterId from) {
  std::vector<Claim> claims;
  std::optional<Bounds> bounds;
  for (const Clue& clue : evidence.said.From(from)) {
    if (placed[clue.node].tagged()) continue;
    if (clue.level == Confidence::kLow) {
      if (!bounds) bounds = FindBounds(evidence, placed);
      const ModuleId inside = bounds->inside[clue.node];
      if (inside != kNo<ModuleId> && inside != clue.module &&
          evidence.modules.IsAncestor(clue.module, inside)) {
        continue;
      }
    }
    claims.push_back(evidence.said.AsClaim(clue));
  }
  return claims;
}

}  // namespace

std::vector<Claim> ProposeFromRecipes(const Evidence& evidence,
                                      const Placed& placed) {
  return WithinBounds(evidence, placed, WriterId::kRecipe);
}

std::vector<Claim> ProposeFromLooseRecipes(const Evidence& evidence,
                                           const Placed& placed) {
  return WithinBounds(evidence, placed, WriterId::kLooseRecipe);
}

std::vector<Claim> ProposeFromExecutionOrder(const Evidence& evidence,
                                             const Placed& placed) {
  return GapPlacer(evidence, placed).Run();
}

}  // namespace onnx_tag
