// Patterns of operations that show which module they are part of: attention,
// the layouts that a module wants, the search of a codebook.
#include <algorithm>
#include <map>
#include <set>

#include "core/tagging/module_format.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"
#include "mapping/ladder/rungs/rung_base.h"
#include "mapping/ladder/rungs/shared_tables.h"

namespace onnx_tag {
namespace {

// Decomposed attention: MatMul, Softmax, MatMul. The nodes between the input
// projections and the output projection belong to the module that calls the
// projections.
class AttentionCores : RungBase {
 public:
  AttentionCores(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        hidden_(PartsOfHidden()),
        core_of_(model_.node_count(), kNo<NodeId>) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (IsOpen(node) && ops_[node] == Op::kSoftmax) Consider(node);
    }
    return std::move(claims_);
  }

 private:
  static constexpr std::size_t kMaxRegion = 300;
  // Edges that are looked at for one softmax: one value may have 10^5 readers,
  // and be read by as many softmaxes.
  static constexpr std::size_t kMostEdges = 4096;

  bool IsLike(NodeId node, Op op) const {
    return Describe(ops_[node]).like == op;
  }
  bool IsCore(NodeId node) const {
    return IsLike(node, Op::kMatMul) && !ReadsConstantWeight(node);
  }

  // A Linear with or without a name: a product with a constant weight.
  bool IsProjection(NodeId node) const {
    return IsLike(node, Op::kGemm) || ReadsConstantWeight(node);
  }

  bool IsInNorm(NodeId node) const {
    const auto* const part = evidence_.graph.composites().Of(node);
    return part != nullptr && IsNorm(part->kind);
  }

  bool IsShape(NodeId node) const { return ops_.Is(node, OpKind::kShapeOf); }

  NodeId Next(NodeId node) {
    for (const NodeId reader : ReadersOf(node)) {
      if (!IsShape(reader)) return reader;
      if (!Spend()) break;
    }
    return kNo<NodeId>;
  }

  // Whether one more edge may be looked at.
  bool Spend() { return edges_left_ > 0 && --edges_left_ > 0; }

  void Consider(NodeId softmax) {
    // Forward to the product with the values and to the output projection.
    region_.clear();
    passed_.clear();
    edges_left_ = kMostEdges;
    NodeId at = softmax;
    bool product = false;
    NodeId out = kNo<NodeId>;
    for (int step = 0; step < 16 && at != kNo<NodeId>; ++step) {
      if (!IsOpen(at) || IsProjection(at)) {
        out = at;
        break;
      }
      Add(at, softmax);
      product |= IsCore(at);
      at = Next(at);
    }
    if (!product) return Forget();
    const ModuleId outside = CallerOf(out);
    // Backward to the input projections.
    const std::size_t behind = region_.size();
    sources_ = kNo<ModuleId>;
    source_count_ = 0;
    usual_ = kNo<ModuleId>;
    for (std::size_t i = 0; i < region_.size() && i < kMaxRegion; ++i) {
      for (const ValueId input : model_.Inputs(region_[i])) {
        if (!Spend()) break;
        const NodeId producer = ProducerOf(model_, input);
        if (producer == kNo<NodeId> || data_.IsConstant(input)) continue;
        Reach(producer, softmax, IsProjection(region_[i]));
      }
    }
    if (edges_left_ == 0) return Forget();
    ModuleId module = source_count_ >= 2 ? sources_ : outside;
    const bool guessed = module == kNo<ModuleId>;
    if (guessed) module = usual_;
    if (module == kNo<ModuleId> || module == kRoot) return Forget();
    const bool own_code = CallsOwnCode(module);
    const bool doubtful = guessed || own_code;
    const std::set<NodeId> joined = JoinedInside(module);
    const std::set<NodeId> turned = Turned(softmax, behind);
    for (const NodeId node : region_) {
      if (joined.contains(node)) continue;
      // All layers do this alike: it may be a part that nobody knows.
      const bool shared = IsShared(node);
      if (own_code && shared) continue;
      // Projections and norms are submodules whose names are lost.
      const bool submodule =
          IsProjection(node) || hidden_[node] || IsInNorm(node);
      Propose(node, module,
              submodule || doubtful || shared || turned.contains(node)
                  ? Confidence::kLow
                  : Confidence::kMedium,
              Source::kOperation,
              guessed ? "it is part of an attention; the name is the usual one "
                        "after this norm"
                      : "it is part of an attention whose projections this "
                        "module calls");
    }
  }

  // The nodes of the region that join what several parts of a module inside
  // `module` made, such as a projection and the adapter beside it; and what
  // only these read.
  std::set<NodeId> JoinedInside(ModuleId module) const {
    const auto is_inside = [&](ModuleId other) {
      return other != module && tree_.IsAncestor(module, other);
    };
    std::vector<NodeId> nodes = region_;
    std::sort(nodes.begin(), nodes.end());
    std::map<NodeId, ModuleId> returned_to;
    std::set<NodeId> joined;
    for (const NodeId node : nodes) {
      const NodeId first = FirstMaker(node);
      ModuleId all = kNo<ModuleId>;
      bool several = false;
      for (const NodeId maker : MakersOf(node)) {
        several = several || maker != first;
        const auto at = returned_to.find(maker);
        all = Join(all, !IsOpen(maker)            ? CallerOf(maker)
                        : at == returned_to.end() ? module
                                                  : at->second);
      }
      if (all == kNo<ModuleId>) all = module;
      returned_to[node] = all;
      if (!several || !is_inside(all)) continue;
      joined.insert(node);
      returned_to[node] = Callable(tree_.Parent(all));
    }
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
      if (is_inside(returned_to[*at]) &&
          joined.contains(OnlyConsumer(model_, *at))) {
        joined.insert(*at);
      }
    }
    return joined;
  }

  // Whether the hierarchy has a part without parameters in it whose operations
  // nobody knows, such as rotary positions.
  bool CallsOwnCode(ModuleId module) const {
    const ModuleId in_map = evidence_.known.InMap(module);
    if (in_map == kNo<ModuleId>) return false;
    const ModuleMap& map = *evidence_.known.map;
    for (const ModuleId child : map.tree.Children(in_map)) {
      if (map.modules[child].parameters.empty() &&
          map.tree.Children(child).empty() &&
          !TorchNnClasses().contains(map.tree.Class(child))) {
        return true;
      }
    }
    return false;
  }

  // Whether several layers do the same with the same table.
  bool IsShared(NodeId node) {
    if (shared_.empty()) {
      shared_.resize(model_.node_count(), false);
      for (const SharedCalls& calls : FindSharedCalls(evidence_, placed_)) {
        for (const std::vector<NodeId>& call : calls) {
          for (const NodeId part : call) shared_[part] = true;
        }
      }
    }
    return shared_[node];
  }

  void Reach(NodeId producer, NodeId softmax, bool from_projection) {
    // The scale of a projection's input says no more than the input.
    if (from_projection || ops_[producer] == Op::kDynamicQuantizeLinear) {
      RememberNorm(producer);
      return;
    }
    if (core_of_[producer] == softmax || IsShape(producer)) return;
    if (!IsOpen(producer)) {
      const NodeId made = ProducerOf(
          model_, evidence_.graph.links.Source(FirstOutput(model_, producer)));
      if (Turns(made)) return ReachBefore(made, softmax);
      sources_ = Join(sources_, CallerOf(producer));
      ++source_count_;
      return;
    }
    // Values with other consumers (masks, rotary tables) are made elsewhere.
    for (const NodeId reader : ReadersOf(producer)) {
      if (core_of_[reader] != softmax && !IsShape(reader)) return;
      if (!Spend()) return;
    }
    Add(producer, softmax);
  }

  // The nodes before the product of queries and keys, if one of them uses a
  // table: what turns queries and keys may be a module of its own. `behind`
  // nodes of the region are behind the softmax.
  std::set<NodeId> Turned(NodeId softmax, std::size_t behind) const {
    const auto first = region_.begin() + static_cast<std::ptrdiff_t>(behind);
    if (passed_.empty() && std::none_of(first, region_.end(), [&](NodeId node) {
          return Turns(node);
        })) {
      return {};
    }
    std::set<NodeId> turned(first, region_.end());
    std::vector<NodeId> open = {softmax};
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      for (const NodeId maker : MakersOf(node)) {
        if (turned.erase(maker) > 0 && !IsCore(maker)) open.push_back(maker);
      }
    }
    return turned;
  }

  // Whether it multiplies with a table, as rotary positions do. The tables of
  // several layers may be one, so that its module says nothing.
  bool Turns(NodeId node) const {
    if (node == kNo<NodeId> || !IsLike(node, Op::kMul) || IsInNorm(node)) {
      return false;
    }
    return AnyIn(model_.Inputs(node),
                 [&](ValueId input) { return IsTable(input); });
  }

  bool IsTable(ValueId value) const {
    const NodeId maker = ProducerOf(model_, value);
    if (!ops_.Is(maker, OpKind::kConstant)) {
      return evidence_.graph.links.ShapeOf(value).dims.size() >= 2;
    }
    const auto tensor = FindAttribute(model_.NodeBytes(maker), "value");
    return tensor && !tensor->tensor.empty() &&
           ReadTensorType(tensor->tensor).dims.size() >= 2;
  }

  // What such a node reads was made by the projections.
  void ReachBefore(NodeId node, NodeId softmax) {
    if (core_of_[node] != kNo<NodeId>) return;
    core_of_[node] = softmax;
    passed_.push_back(node);
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = ProducerOf(model_, input);
      if (!Spend()) return;
      if (producer != kNo<NodeId> && !data_.IsConstant(input)) {
        Reach(producer, softmax, false);
      }
    }
  }

  // Stores the norm that the input projections read.
  void RememberNorm(NodeId node) {
    if (IsOpen(node)) return;
    const ModuleId usual =
        UsualAttention(evidence_, tree_, placed_[node].module);
    if (usual != kNo<ModuleId>) usual_ = usual;
  }

  void Add(NodeId node, NodeId softmax) {
    if (core_of_[node] != kNo<NodeId>) return;
    core_of_[node] = softmax;
    region_.push_back(node);
  }

  void Forget() {
    for (const auto* const nodes : {&region_, &passed_}) {
      for (const NodeId node : *nodes) core_of_[node] = kNo<NodeId>;
    }
  }

  ModuleId CallerOf(NodeId node) const {
    return node == kNo<NodeId> || IsOpen(node)
               ? kNo<ModuleId>
               : AfterReturn(placed_[node].module);
  }

  const IdVector<NodeId, bool> hidden_;
  IdVector<NodeId, NodeId> core_of_;  // the softmax whose region it is in
  std::vector<NodeId> region_;
  std::vector<NodeId> passed_;  // to what is before nodes that use tables
  std::size_t edges_left_ = 0;
  ModuleId sources_ = kNo<ModuleId>;
  int source_count_ = 0;
  ModuleId usual_ = kNo<ModuleId>;
  IdVector<NodeId, bool> shared_;  // empty until asked for
};

// Nodes that only bring a tensor into another layout for the module beside
// them.
class Layouts : RungBase {
 public:
  Layouts(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        packs_(ModulesThatPack(evidence)),
        before_(tree_.size()),
        behind_(tree_.size()) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (IsOpen(node) && ops_[node] == Op::kTranspose) AroundPacked(node);
      if (!IsOpen(node) && ops_.Is(node, OpKind::kRecurrent)) {
        AroundRecurrent(node);
      }
    }
    // torch.nn.MultiheadAttention wants the sequence first. With batch_first it
    // transposes its inputs, and its result back. One of them alone may be the
    // caller's.
    for (const ModuleId id : AllIds<ModuleId>(packs_.size())) {
      if (before_[id].empty() || behind_[id].empty()) continue;
      for (const auto* const nodes : {&before_[id], &behind_[id]}) {
        for (const NodeId node : *nodes) {
          Propose(node, id, Confidence::kMedium, Source::kOperation,
                  "a MultiheadAttention transposes its inputs, and its result "
                  "back");
        }
      }
    }
    return std::move(claims_);
  }

 private:
  static constexpr std::size_t kMostMoves = 4;

  NodeId OnlyDataReader(ValueId value) const {
    return value == kNo<ValueId> || model_[value].is_output
               ? kNo<NodeId>
               : OnlyReader(model_, value, [&](NodeId reader) {
                   return !ops_.Is(reader, OpKind::kShapeOf);
                 });
  }

  // ONNX's LSTM, GRU and RNN take and give other layouts than torch's: the
  // exporter moves the axes before and behind them.
  void AroundRecurrent(NodeId node) {
    constexpr OpKinds kMoves = {OpKind::kTranspose, OpKind::kReshape};
    NodeId last = node;
    bool transposed = false;  // back to the batch in front
    for (std::size_t i = 0; i < kMostMoves; ++i) {
      const NodeId next = OnlyDataReader(FirstOutput(model_, last));
      if (!ops_.Is(next, kMoves)) break;
      transposed = i > 0 && ops_[next] == Op::kTranspose;
      ProposeLayout(next, node);
      last = next;
    }
    const NodeId before = FirstMaker(node);
    if (transposed && ops_[before] == Op::kTranspose &&
        OnlyConsumer(model_, before) == node) {
      ProposeLayout(before, node);
    }
  }

  void ProposeLayout(NodeId node, NodeId recurrent) {
    Propose(node, placed_[recurrent].module, Confidence::kMedium,
            Source::kOperation,
            "it changes the axes of an input or output of this module");
  }

  void AroundPacked(NodeId node) {
    const ModuleId reader = OnlyPackedReader(node);
    const NodeId maker = FirstMaker(node);
    if (reader != kNo<ModuleId>) {
      before_[reader].push_back(node);
    } else if (maker != kNo<NodeId> && !IsOpen(maker) &&
               packs_[placed_[maker].module]) {
      behind_[placed_[maker].module].push_back(node);
    }
  }

  // The attention of all nodes that read the data it makes, or kNo.
  ModuleId OnlyPackedReader(NodeId node) const {
    ModuleId module = kNo<ModuleId>;
    for (const NodeId reader : ReadersOf(node)) {
      if (ops_.Is(reader, OpKind::kShapeOf)) continue;
      const ModuleId other = placed_[reader].module;
      if (IsOpen(reader) || !packs_[other] ||
          (module != kNo<ModuleId> && module != other)) {
        return kNo<ModuleId>;
      }
      module = other;
    }
    return module;
  }

  IdVector<ModuleId, bool> packs_;  // has the weights of three projections
  // Transposes, by the attention that alone reads them or makes their input.
  IdVector<ModuleId, std::vector<NodeId>> before_;
  IdVector<ModuleId, std::vector<NodeId>> behind_;
};

// A codebook: the nearest row of a table is looked for, and looked up. The
// table is an Embedding's weight, used by the arithmetic of its owner, or a
// parameter of the owner itself.
class Codebooks : RungBase {
 public:
  using RungBase::RungBase;

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (ops_[node] == Op::kGather) Consider(node);
    }
    return std::move(claims_);
  }

 private:
  static constexpr std::size_t kMostNodes = 32;
  static constexpr std::size_t kMostEdges = 128;

  // Follows the indices to the node that chose them.
  NodeId ChosenBy(NodeId gather) const {
    const auto inputs = model_.Inputs(gather);
    NodeId at = inputs.size() < 2 ? kNo<NodeId> : ProducerOf(model_, inputs[1]);
    for (std::size_t step = 0; step < kMostNodes; ++step) {
      if (!ops_.Is(at, {OpKind::kCast, OpKind::kReshape})) break;
      at = FirstMaker(at);
    }
    return ops_.Is(at, {Op::kArgMin, Op::kArgMax}) ? at : kNo<NodeId>;
  }

  // The open nodes that it depends on, itself first; empty if there are many.
  std::vector<NodeId> Before(NodeId last) const {
    std::vector<NodeId> nodes;
    if (!IsOpen(last)) return nodes;
    nodes.push_back(last);
    WalkBack(last, kMostEdges, [&](NodeId node) {
      if (IsOpen(node)) nodes.push_back(node);
      return IsOpen(node);
    });
    if (nodes.size() > kMostNodes) nodes.clear();
    return nodes;
  }

  void Consider(NodeId gather) {
    const ParameterId table = evidence_.ParameterOf(FirstInput(model_, gather));
    if (table == kNo<ParameterId>) return;
    const Parameter& parameter = evidence_.parameters[table];
    const NodeId chosen = ChosenBy(gather);
    if (chosen == kNo<NodeId> || parameter.rank < 2 ||
        parameter.module == kRoot) {
      return;
    }
    const ModuleId owner = IsPlainParameter(parameter.name)
                               ? Callable(tree_.Parent(parameter.module))
                               : parameter.module;
    if (owner == kRoot) return;
    const std::vector<NodeId> nodes = Before(chosen);
    // Products with the rows, or with themselves: distances.
    const bool distances = AnyIn(nodes, [&](NodeId node) {
      return ReadsConstantWeight(node) || ops_.Is(node, {Op::kPow, Op::kSub});
    });
    if (!distances) return;
    for (const NodeId node : nodes) {
      Propose(node, owner, Confidence::kLow, Source::kOperation,
              "it looks for the nearest row of this module's table");
    }
    Propose(gather, parameter.module, Confidence::kMedium, Source::kParameter,
            "it looks up the nearest row of this module's table");
  }
};

}  // namespace

std::vector<Claim> ProposeFromAttention(const Evidence& evidence,
                                        const Placed& placed) {
  return AttentionCores(evidence, placed).Run();
}

std::vector<Claim> ProposeForLayouts(const Evidence& evidence,
                                     const Placed& placed) {
  return Layouts(evidence, placed).Run();
}

std::vector<Claim> ProposeForCodebooks(const Evidence& evidence,
                                       const Placed& placed) {
  return Codebooks(evidence, placed).Run();
}

}  // namespace onnx_tag
