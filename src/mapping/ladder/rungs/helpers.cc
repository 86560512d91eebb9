// Places helper nodes: weight carriers, conversions, Reshapes around a Gemm and
// nodes whose consumers agree.
#include <algorithm>
#include <unordered_map>

#include "mapping/ladder/rungs/rung_base.h"

namespace onnx_tag {
namespace {

// Whether the tag comes from what an exporter, a recording or another version
// says of the node.
bool IsDirect(const Tag& tag) {
  switch (tag.source) {
    case Source::kMetadata:
    case Source::kScope:
    case Source::kScopeAndParameter:
    case Source::kValueName:
    case Source::kTrace:
    case Source::kFx:
    case Source::kTransfer:
      return tag.tagged();
    default:
      return false;
  }
}

// A MatMul and an Add became a Gemm, which takes two dimensions. The Reshapes
// around it, or around two with an activation between, were inserted for this.
class GemmReshapes : RungBase {
 public:
  GemmReshapes(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed), packs_(ModulesThatPack(evidence)) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (IsOpen(node) || ops_[node] != Op::kGemm) continue;
      const NodeId before = Before(node);
      const NodeId after = After(node);
      if (before != kNo<NodeId> && after == kNo<NodeId>) {
        ProposeAroundSeveral(before, node);
      }
      // Without scopes, a Reshape on only one side may belong to the model.
      const bool both = before != kNo<NodeId> && after != kNo<NodeId>;
      if (!both && !IsDirect(placed_[node])) continue;
      ProposeReshape(before, node);
      ProposeReshape(after, node);
    }
    return std::move(claims_);
  }

 private:
  // Gemms with the same input share its Reshape.
  NodeId Before(NodeId gemm) {
    const NodeId before = FirstMaker(gemm);
    if (ops_[before] != Op::kReshape) return kNo<NodeId>;
    return OnlyGemmsRead(FirstInput(model_, gemm)) ? before : kNo<NodeId>;
  }
  // Found once: as many Gemms as the file has nodes may read one value.
  bool OnlyGemmsRead(ValueId value) {
    const auto [at, is_new] = only_gemms_.try_emplace(value, true);
    if (!is_new) return at->second;
    for (const NodeId reader : model_.Consumers(value)) {
      at->second &= ops_[reader] == Op::kGemm;
    }
    return at->second;
  }
  NodeId After(NodeId gemm) const {
    const NodeId after = OnlyConsumer(model_, gemm);
    return ops_[after] == Op::kReshape ? after : kNo<NodeId>;
  }

  // The Reshape behind belongs to a Gemm that reads what `gemm` makes, possibly
  // through an activation.
  void ProposeAroundSeveral(NodeId before, NodeId gemm) {
    constexpr std::size_t kMostEdges = 32;
    WalkOn(gemm, kMostEdges, [&](NodeId next) {
      if (ops_[next] != Op::kGemm) {
        return ops_.Is(next, OpKind::kActivation) ||
               ops_.Is(next,
                       {Op::kErf, Op::kMul, Op::kAdd, Op::kDiv, Op::kPow});
      }
      const NodeId after = After(next);
      if (!IsOpen(next) && Before(next) == kNo<NodeId> &&
          after != kNo<NodeId>) {
        ProposeReshape(before, gemm);
        ProposeReshape(after, next);
      }
      return false;
    });
  }

  void ProposeReshape(NodeId reshape, NodeId gemm) {
    if (reshape == kNo<NodeId> || (OnlyConsumer(model_, reshape) != gemm &&
                                   OnlyConsumer(model_, gemm) != reshape)) {
      return;
    }
    ModuleId module = placed_[gemm].module;
    if (module != kRoot && packs_[tree_.Parent(module)]) {
      module = tree_.Parent(module);
    }
    Propose(reshape, module,
            std::min(placed_[gemm].confidence, IsDirect(placed_[gemm])
                                                   ? Confidence::kHigh
                                                   : Confidence::kMedium),
            Source::kOperation,
            "it reshapes the input or output of this module's Gemm");
  }

  IdVector<ModuleId, bool> packs_;
  std::unordered_map<ValueId, bool> only_gemms_;  // by what they read
};

// Nodes without a scope among nodes with scopes: scripted functions, constants,
// helpers of the exporter. They belong to their consumer.
class Consumers : RungBase {
 public:
  Consumers(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        hidden_(PartsOfHidden()),
        found_(model_.node_count(), kNo<ModuleId>),
        sure_(model_.node_count(), Confidence::kHigh) {}

  std::vector<Claim> Run() {
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      if (IsOpen(node)) {
        Consider(node);
        continue;
      }
      if (IsDirect(placed_[node]) && !evidence_.named_by_constant[node]) {
        found_[node] = placed_[node].module;
      }
      sure_[node] = std::min(sure_[node], placed_[node].confidence);
    }
    return std::move(claims_);
  }

 private:
  void Consider(NodeId node) {
    if (IsResult(node)) return;
    ModuleId module = kNo<ModuleId>;
    for (const NodeId reader : ReadersOf(node)) {
      if (module == kNo<ModuleId>) module = found_[reader];
      if (module == kNo<ModuleId> || found_[reader] != module) return;
      sure_[node] = std::min(sure_[node], sure_[reader]);
    }
    if (module == kNo<ModuleId>) return;
    found_[node] = module;
    if (IsContradicted(node, module)) {
      sure_[node] = std::min(sure_[node], Confidence::kMedium);
    }
    if (hidden_[node]) sure_[node] = Confidence::kLow;
    Propose(node, module, sure_[node], Source::kLocality,
            "all nodes that read its result are in this module");
  }

  // Whether it reads what another module is said to have made.
  bool IsContradicted(NodeId node, ModuleId module) const {
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = ProducerOf(model_, input);
      if (producer != kNo<NodeId> && !data_.IsConstant(input) &&
          IsDirect(placed_[producer]) && placed_[producer].module != module) {
        return true;
      }
    }
    return false;
  }

  const IdVector<NodeId, bool> hidden_;
  IdVector<NodeId, ModuleId> found_;
  // A claim is no surer than those of its consumers.
  IdVector<NodeId, Confidence> sure_;
};

}  // namespace

std::vector<Claim> ProposeForCarriers(const Evidence& evidence,
                                      const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  for (const NodeId node : model.Nodes()) {
    if (placed[node].tagged() || !evidence.is_carrier[node]) continue;
    ParameterId id = evidence.ParameterOf(FirstOutput(model, node));
    // A scale has the name of its tensor; several may have equal values.
    const auto inputs = model.Inputs(node);
    const ParameterId scale =
        evidence.graph.ops.Is(node,
                              {OpKind::kQuantizer, OpKind::kDequantizer}) &&
                inputs.size() > 1
            ? evidence.ParameterOf(inputs[1])
            : kNo<ParameterId>;
    if (scale != kNo<ParameterId>) id = scale;
    if (id == kNo<ParameterId>) continue;
    const Parameter& parameter = evidence.parameters[id];
    claims.push_back(
        {node, parameter.module,
         parameter.trusted || scale != kNo<ParameterId> ? Confidence::kMedium
                                                        : Confidence::kLow,
         Source::kParameter, "it only passes on a parameter of this module"});
  }
  return claims;
}

namespace {

// The module that unpacks the parts of a Split: it alone reads all of them, and
// is no leaf, which takes one tensor. kNo if there is none.
ModuleId UnpackedIn(const Evidence& evidence, const Placed& placed,
                    NodeId split) {
  const Model& model = evidence.model;
  const Operators& ops = evidence.graph.ops;
  constexpr std::size_t kMostEdges = 64;
  ModuleId module = kNo<ModuleId>;
  bool alone = true;
  const bool all = Walk(
      split, kMostEdges,
      [&](NodeId at, const auto& go) { ForEachReader(model, at, go); },
      [&](NodeId reader) {
        const Tag& tag = placed[reader];
        if (!tag.tagged() &&
            ops.Is(reader, {OpKind::kQuantizer, OpKind::kDequantizer})) {
          return true;
        }
        if (module == kNo<ModuleId>) module = tag.module;
        alone = alone && tag.tagged() && tag.module == module;
        return false;
      });
  const bool unpacks = all && alone && module != kNo<ModuleId> &&
                       !evidence.modules.Children(module).empty();
  return unpacks ? module : kNo<ModuleId>;
}

}  // namespace

// Nodes that a quantizer or a float16 converter inserted belong to the producer
// of the tensor, with at most the same confidence.
std::vector<Claim> ProposeForConversions(const Evidence& evidence,
                                         const Placed& placed) {
  const Model& model = evidence.model;
  const Operators& ops = evidence.graph.ops;
  std::vector<Claim> claims;
  // A quantizer and a dequantizer are adjacent. This is the producer of the
  // tensor; open conversions between are skipped.
  IdVector<NodeId, NodeId> maker(model.node_count(), kNo<NodeId>);
  for (const NodeId node : model.Nodes()) {
    if (placed[node].tagged()) maker[node] = node;
    if (placed[node].tagged() || evidence.is_carrier[node]) continue;
    const bool cast = ops.Is(node, OpKind::kCast);
    if (cast ? !evidence.IsConverterName(node)
             : !ops.Is(node, {OpKind::kQuantizer, OpKind::kDequantizer})) {
      continue;
    }
    const NodeId producer = ProducerOf(model, FirstInput(model, node));
    if (producer == kNo<NodeId> || maker[producer] == kNo<NodeId>) continue;
    maker[node] = maker[producer];
    const Tag& made = placed[maker[node]];
    const ModuleId reader = ops[maker[node]] == Op::kSplit
                                ? UnpackedIn(evidence, placed, maker[node])
                                : kNo<ModuleId>;
    claims.push_back(
        {node, reader == kNo<ModuleId> ? made.module : reader,
         std::min(made.confidence, Confidence::kHigh), Source::kOperation,
         reader == kNo<ModuleId>
             ? "it converts a tensor of this module"
             : "it converts a part that this module alone unpacks"});
  }
  return claims;
}

std::vector<Claim> ProposeForGemmReshapes(const Evidence& evidence,
                                          const Placed& placed) {
  return GemmReshapes(evidence, placed).Run();
}

std::vector<Claim> ProposeFromConsumers(const Evidence& evidence,
                                        const Placed& placed) {
  return Consumers(evidence, placed).Run();
}

}  // namespace onnx_tag
