#include "mapping/ladder/rungs/rung_base.h"

#include <algorithm>
#include <set>

#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// The only input that is not constant, or kNo.
ValueId DataInput(const Evidence& evidence, NodeId node) {
  ValueId data = kNo<ValueId>;
  for (const ValueId input : evidence.model.Inputs(node)) {
    if (input == kNo<ValueId> || evidence.graph.data.IsConstant(input)) {
      continue;
    }
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
      const bool weight = AnyIn(model.Inputs(at), [&](ValueId input) {
        return evidence.graph.data.IsConstant(input);
      });
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
    const std::string_view atom = hierarchy::LastPart(parameter.name, '.');
    if (atom == "in_proj_weight" || atom == "in_proj_bias" ||
        atom == "q_proj_weight") {
      packs[parameter.module] = true;
    }
  }
  return packs;
}

bool IsPlainParameter(std::string_view name) {
  const std::string_view atom = hierarchy::LastPart(name, '.');
  return atom == "weight" || atom == "bias" || atom == "running_mean" ||
         atom == "running_var" || hierarchy::IsFoldedBias(name);
}

bool RungBase::ReadsConstantWeight(NodeId node) const {
  if (!ops_.Is(node, kWeighing)) return false;
  // An Einsum has no weight in the table: who calls it multiplies with a tensor
  // of its own.
  constexpr std::array kWeights = {Operand::kWeight, Operand::kMatrix,
                                   Operand::kQuantized, Operand::kGatesIn,
                                   Operand::kGatesOut};
  const Operator& op = Describe(ops_[node]);
  const auto inputs = model_.Inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (data_.IsConstant(inputs[i]) && IsAmong(op.Input(i), kWeights)) {
      return true;
    }
  }
  return false;
}

std::vector<std::pair<NodeId, NodeId>> RungBase::SameBefore(
    NodeId a, NodeId b, std::size_t most,
    const std::function<bool(NodeId, NodeId)>& takes) const {
  std::vector<std::pair<NodeId, NodeId>> pairs = {{a, b}};
  std::set<NodeId> seen;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto inputs = model_.Inputs(pairs[i].first);
    const auto others = model_.Inputs(pairs[i].second);
    for (std::size_t k = 0; k < std::min(inputs.size(), others.size()); ++k) {
      const NodeId first = ProducerOf(model_, inputs[k]);
      const NodeId second = ProducerOf(model_, others[k]);
      if (first == second || first == kNo<NodeId> || second == kNo<NodeId> ||
          !IsSameOperator(first, second) || !takes(first, second) ||
          !seen.insert(first).second) {
        continue;
      }
      if (pairs.size() > most) return {};
      pairs.emplace_back(first, second);
    }
  }
  return pairs;
}

IdVector<NodeId, bool> RungBase::PartsOfHidden() const {
  IdVector<NodeId, bool> hidden(model_.node_count(), false);
  for (const NodeId node : model_.Nodes()) {
    if (!IsOpen(node) || !ops_.Is(node, OpKind::kInteger) ||
        !ReadsConstantWeight(node)) {
      continue;
    }
    for (const NodeId part : PartsOfQuantized(evidence_, node)) {
      if (part != kNo<NodeId>) hidden[part] = true;
    }
  }
  return hidden;
}

IdVector<ModuleId, bool> RungBase::ModulesWithArithmetic() const {
  IdVector<ModuleId, bool> own(tree_.size(), false);
  for (const Parameter& parameter : evidence_.parameters) {
    if (parameter.uses > 0 && !IsPlainParameter(parameter.name)) {
      own[parameter.module] = true;
    }
  }
  return own;
}

}  // namespace onnx_tag
