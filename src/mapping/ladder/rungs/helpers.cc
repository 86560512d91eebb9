// Places helper nodes: weight carriers, conversions, Reshapes and nodes with
// one consumer.
#include <algorithm>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {

std::vector<Claim> ProposeForCarriers(const Evidence& evidence,
                                      const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  for (const NodeId node : model.Nodes()) {
    if (placed[node].tagged() || !evidence.is_carrier[node]) continue;
    const auto outputs = model.Outputs(node);
    if (outputs.empty()) continue;
    const ParameterId id = evidence.ParameterOf(outputs[0]);
    if (id == kNo<ParameterId>) continue;
    claims.push_back({node, evidence.parameters[id].module, Confidence::kMedium,
                      Source::kParameter,
                      "it only passes on a parameter of this module"});
  }
  return claims;
}

namespace {

// Whether the tag comes from what an exporter, a recording or another version
// says of the node.
bool IsDirect(const Tag& tag) {
  return tag.tagged() &&
         (tag.source == Source::kScope || tag.source == Source::kMetadata ||
          tag.source == Source::kScopeAndParameter ||
          tag.source == Source::kTrace || tag.source == Source::kFx ||
          tag.source == Source::kTransfer || tag.source == Source::kValueName);
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
    const auto inputs = model.Inputs(node);
    const NodeId producer =
        inputs.empty() ? kNo<NodeId> : ProducerOf(model, inputs[0]);
    if (producer == kNo<NodeId> || maker[producer] == kNo<NodeId>) continue;
    maker[node] = maker[producer];
    const Tag& made = placed[maker[node]];
    claims.push_back(
        {node, made.module, std::min(made.confidence, Confidence::kHigh),
         Source::kOperation, "it converts a tensor of this module"});
  }
  return claims;
}

namespace {

// The Gemms that read what `gemm` makes, possibly through an activation.
std::vector<NodeId> NextGemms(const Model& model, const Operators& ops,
                              NodeId gemm) {
  constexpr std::size_t kMostBetween = 12;
  const auto is_pointwise = [&](NodeId node) {
    return ops.Is(node, OpKind::kActivation) ||
           ops.Is(node, {Op::kErf, Op::kMul, Op::kAdd, Op::kDiv, Op::kPow});
  };
  std::vector<NodeId> gemms;
  std::vector<NodeId> nodes = {gemm};
  for (std::size_t i = 0; i < nodes.size() && i < kMostBetween; ++i) {
    for (const ValueId output : model.Outputs(nodes[i])) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model.Consumers(output)) {
        if (ops[reader] == Op::kGemm) {
          gemms.push_back(reader);
        } else if (is_pointwise(reader) && std::find(nodes.begin(), nodes.end(),
                                                     reader) == nodes.end()) {
          nodes.push_back(reader);
        }
      }
    }
  }
  return gemms;
}

}  // namespace

// A MatMul and an Add became a Gemm, which takes two dimensions. The Reshapes
// around it, or around two with an activation between, were inserted for this.
std::vector<Claim> ProposeForGemmReshapes(const Evidence& evidence,
                                          const Placed& placed) {
  const Model& model = evidence.model;
  const ModuleTree& tree = evidence.modules;
  const IdVector<ModuleId, bool> packs = ModulesThatPack(evidence);
  std::vector<Claim> claims;
  const auto claim = [&](NodeId reshape, NodeId gemm) {
    if (reshape == kNo<NodeId> || placed[reshape].tagged() ||
        (OnlyConsumer(model, reshape) != gemm &&
         OnlyConsumer(model, gemm) != reshape)) {
      return;
    }
    ModuleId module = placed[gemm].module;
    if (module != ModuleTree::kRoot && packs[tree.Parent(module)]) {
      module = tree.Parent(module);
    }
    claims.push_back({reshape, module,
                      std::min(placed[gemm].confidence,
                               IsDirect(placed[gemm]) ? Confidence::kHigh
                                                      : Confidence::kMedium),
                      Source::kOperation,
                      "it reshapes the input or output of this module's Gemm"});
  };
  // Gemms with the same input share its Reshape.
  const auto before_of = [&](NodeId gemm) {
    const NodeId before = ProducerOf(model, FirstInput(model, gemm));
    if (before == kNo<NodeId> || model.OpType(before) != "Reshape") {
      return kNo<NodeId>;
    }
    for (const NodeId reader : model.Consumers(FirstInput(model, gemm))) {
      if (model.OpType(reader) != "Gemm") return kNo<NodeId>;
    }
    return before;
  };
  const auto after_of = [&](NodeId gemm) {
    const NodeId after = OnlyConsumer(model, gemm);
    return after != kNo<NodeId> && model.OpType(after) == "Reshape"
               ? after
               : kNo<NodeId>;
  };
  for (const NodeId node : model.Nodes()) {
    if (!placed[node].tagged() || model.OpType(node) != "Gemm") continue;
    const NodeId before = before_of(node);
    const NodeId after = after_of(node);
    if (before != kNo<NodeId> && after == kNo<NodeId>) {
      for (const NodeId next : NextGemms(model, evidence.graph.ops, node)) {
        if (!placed[next].tagged() || before_of(next) != kNo<NodeId> ||
            after_of(next) == kNo<NodeId>) {
          continue;
        }
        claim(before, node);
        claim(after_of(next), next);
      }
    }
    // Without scopes, a Reshape on only one side may belong to the model.
    const bool both = before != kNo<NodeId> && after != kNo<NodeId>;
    if (!both && !IsDirect(placed[node])) continue;
    claim(before, node);
    claim(after, node);
  }
  return claims;
}

namespace {

// What a quantizer made of a product whose module no name tells: it is not of
// the module that reads the result.
IdVector<NodeId, bool> PartsOfHidden(const Evidence& evidence,
                                     const Placed& placed) {
  const Model& model = evidence.model;
  IdVector<NodeId, bool> hidden(model.node_count(), false);
  for (const NodeId node : model.Nodes()) {
    if (placed[node].tagged() || !model.OpType(node).ends_with("Integer") ||
        !HasHiddenWeight(evidence, node)) {
      continue;
    }
    for (const NodeId part : PartsOfQuantized(evidence, node)) {
      if (part != kNo<NodeId>) hidden[part] = true;
    }
  }
  return hidden;
}

}  // namespace

// Nodes without a scope among nodes with scopes: scripted functions, constants,
// helpers of the exporter. They belong to their consumer.
std::vector<Claim> ProposeFromConsumers(const Evidence& evidence,
                                        const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  const IdVector<NodeId, bool> hidden = PartsOfHidden(evidence, placed);
  IdVector<NodeId, ModuleId> found(model.node_count(), kNo<ModuleId>);
  // A claim is no surer than those of its consumers.
  IdVector<NodeId, Confidence> sure(model.node_count(), Confidence::kHigh);
  for (std::size_t i = model.node_count(); i-- > 0;) {
    const auto node = MakeId<NodeId>(i);
    if (placed[node].tagged()) {
      if (IsDirect(placed[node]) && !evidence.named_by_constant[node]) {
        found[node] = placed[node].module;
      }
      sure[node] = std::min(sure[node], placed[node].confidence);
      continue;
    }
    ModuleId module = kNo<ModuleId>;
    bool agree = true;
    for (const ValueId output : model.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      agree &= !model[output].is_output;
      for (const NodeId consumer : model.Consumers(output)) {
        if (module == kNo<ModuleId>) module = found[consumer];
        agree &= found[consumer] != kNo<ModuleId> && found[consumer] == module;
        sure[node] = std::min(sure[node], sure[consumer]);
      }
    }
    if (!agree || module == kNo<ModuleId>) continue;
    bool contradicted = false;
    for (const ValueId input : model.Inputs(node)) {
      const NodeId producer = ProducerOf(model, input);
      if (producer == kNo<NodeId> || evidence.graph.data.IsConstant(input)) {
        continue;
      }
      contradicted |=
          IsDirect(placed[producer]) && placed[producer].module != module;
    }
    found[node] = module;
    if (contradicted) sure[node] = std::min(sure[node], Confidence::kMedium);
    claims.push_back({node, module,
                      hidden[node] ? Confidence::kLow : sure[node],
                      Source::kLocality,
                      "all nodes that read its result are in this module"});
  }
  return claims;
}

}  // namespace onnx_tag
