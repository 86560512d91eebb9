#include "mapping/ladder/rungs/graph_patterns.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

template <std::size_t kCount>
bool OneOf(std::string_view op,
           const std::array<std::string_view, kCount>& ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool IsConstant(const Evidence& evidence, ValueId value) {
  return evidence.graph.data.IsConstant(value);
}

// The only input that is not constant, or kNo.
ValueId DataInput(const Evidence& evidence, NodeId node) {
  ValueId data = kNo<ValueId>;
  for (const ValueId input : evidence.model.Inputs(node)) {
    if (input == kNo<ValueId> || IsConstant(evidence, input)) continue;
    if (data != kNo<ValueId>) return kNo<ValueId>;
    data = input;
  }
  return data;
}

}  // namespace

NodeId MatMulBefore(const Evidence& evidence, NodeId add) {
  constexpr OpKinds kBetween = {OpKind::kCast, OpKind::kReshape,
                                OpKind::kQuantizer, OpKind::kDequantizer};
  const Model& model = evidence.model;
  const Operators& ops = evidence.graph.ops;
  NodeId at = ProducerOf(model, DataInput(evidence, add));
  for (int steps = 0; at != kNo<NodeId> && steps < 4; ++steps) {
    if (ops.Is(at, OpKind::kProduct)) {
      const auto inputs = model.Inputs(at);
      const bool weight = std::any_of(
          inputs.begin(), inputs.end(),
          [&](ValueId input) { return IsConstant(evidence, input); });
      return weight && OnlyConsumer(model, at) != kNo<NodeId> ? at
                                                              : kNo<NodeId>;
    }
    if (!ops.Is(at, kBetween)) break;
    at = ProducerOf(model, DataInput(evidence, at));
  }
  return kNo<NodeId>;
}

QuantizedParts PartsOfQuantized(const Evidence& evidence, NodeId product) {
  const QuantizedProduct parts =
      FindQuantizedProduct(evidence.graph.links, product);
  return {product, parts.scales, parts.bias, parts.cast, parts.scaled};
}

IdVector<ModuleId, bool> ModulesThatPack(const Evidence& evidence) {
  IdVector<ModuleId, bool> packs(evidence.modules.size(), false);
  for (const Parameter& parameter : evidence.parameters) {
    const std::string_view name = parameter.name;
    const std::string_view atom = name.substr(name.rfind('.') + 1);
    if (atom == "in_proj_weight" || atom == "in_proj_bias" ||
        atom == "q_proj_weight") {
      packs[parameter.module] = true;
    }
  }
  return packs;
}

bool IsPlainParameter(std::string_view name) {
  constexpr std::array<std::string_view, 4> kPlain = {
      "weight", "bias", "running_mean", "running_var"};
  return OneOf(hierarchy::LastPart(name, '.'), kPlain) ||
         hierarchy::IsFoldedBias(name);
}

bool IsPool(const Evidence& evidence, NodeId node) {
  return evidence.graph.ops.Is(node, {Op::kMaxPool, Op::kAveragePool});
}

bool HasHiddenWeight(const Evidence& evidence, NodeId node) {
  const Model& model = evidence.model;
  if (!evidence.graph.ops.Is(node, kWeighing)) return false;
  for (const ValueId input : model.Inputs(node)) {
    if (evidence.graph.data.IsConstant(input)) {
      return true;
    }
  }
  return false;
}

}  // namespace onnx_tag
