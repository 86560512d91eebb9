#include "mapping/roles/containers.h"

#include <algorithm>

namespace onnx_tag {

bool ContainerRules::IsTable(ValueId value) const {
  const ValueId weight = facts_.WeightOf(value);
  const Initializer* initializer =
      weight == kNo<ValueId> ? nullptr : model_.InitializerOf(weight);
  if (initializer == nullptr) return false;
  const auto dims = model_.Dims(*initializer);
  return std::count_if(dims.begin(), dims.end(),
                       [](std::int64_t dim) { return dim > 1; }) >= 2;
}

bool ContainerRules::AddsTable(NodeId node) const {
  if (!facts_.Is(node, OpKind::kSum)) return false;
  const auto inputs = model_.Inputs(node);
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
    return facts_.IsConstant(input) && !HasMeaning(input) && IsTable(input);
  });
}

bool ContainerRules::AddsPositions(NodeId node) const {
  if (!facts_.Is(node, OpKind::kSum)) return false;
  const auto inputs = model_.Inputs(node);
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
    const NodeId producer = facts_.Producer(input);
    const ModuleMeaning* from =
        producer == kNo<NodeId> ? nullptr : facts_.Module(producer);
    return from != nullptr && from->own.type == RoleType::kEmbedding &&
           meanings_[producer].component == Component::kPosition;
  });
}

bool ContainerRules::HasMeaning(ValueId value) const {
  const NodeId producer = facts_.Producer(value);
  return producer != kNo<NodeId> && IsHandedOn(meanings_[producer].type);
}

Meaning ContainerRules::InEmbedding(NodeId node, const ModuleMeaning& module) {
  if (module.leaf || module.own.component != Component::kNone) {
    return module.own;
  }
  if (AddsTable(node)) {
    return Of(RoleType::kEmbedding, Component::kPosition);
  }
  if (facts_.Is(node, OpKind::kSum) || facts_.Is(node, OpKind::kConcat)) {
    return module.own;
  }
  const Meaning before = FromInputs(node);
  return before.type == RoleType::kEmbedding ? before : module.own;
}

bool ContainerRules::IsTokenPick(NodeId node) const {
  const auto inputs = model_.Inputs(node);
  return facts_.Is(node, OpKind::kLookup) && inputs.size() == 2 &&
         facts_.graph.data.IsComputed(inputs[0]);
}

Meaning ContainerRules::InContainer(NodeId node, const ModuleMeaning& module) {
  if (const Meaning named = FromParameters(node); named.typed()) return named;
  if (!module.listed && AddsTable(node)) {
    return Of(RoleType::kEmbedding, Component::kPosition);
  }
  const Meaning before = FromInputs(node);
  if (before.typed()) return before;
  if (!module.listed && AddsPositions(node)) {
    return Of(RoleType::kEmbedding);
  }
  if (facts_.reach[node] == kToPick) return Of(RoleType::kPooling);
  if (facts_.IsJoin(node)) return Of(RoleType::kResidual);
  if (IsLayerScale(node, module)) {
    return Of(RoleType::kResidual, Component::kScale);
  }
  if (!module.listed && IsTokenPick(node)) return Of(RoleType::kPooling);
  return Of(RoleType::kOther);
}

Meaning ContainerRules::FromParameters(NodeId node) {
  for (const ValueId input : model_.Inputs(node)) {
    if (input == kNo<ValueId> || !facts_.IsConstant(input) ||
        HasMeaning(input)) {
      continue;
    }
    const Meaning named = facts_.ParameterMeaning(input, Meaning());
    if (named.type == RoleType::kEmbedding || named.type == RoleType::kHead) {
      return named;
    }
  }
  return {};
}

bool ContainerRules::IsLayerScale(NodeId node,
                                  const ModuleMeaning& module) const {
  if (!module.listed || module.leaf || facts_.graph.ops[node] != Op::kMul ||
      facts_.DataInputs(node) != 1) {
    return false;
  }
  for (const ValueId input : model_.Inputs(node)) {
    const ValueId weight =
        facts_.IsConstant(input) ? facts_.WeightOf(input) : kNo<ValueId>;
    if (weight == kNo<ValueId>) continue;
    const auto dims = model_.Dims(*model_.InitializerOf(weight));
    if (std::count_if(dims.begin(), dims.end(),
                      [](std::int64_t dim) { return dim > 1; }) == 1) {
      return true;
    }
  }
  return false;
}

Meaning ContainerRules::FromInputs(NodeId node) const {
  Meaning common;
  bool first = true;
  for (const ValueId input : model_.Inputs(node)) {
    if (!facts_.graph.data.IsComputed(input) && !HasMeaning(input)) continue;
    const NodeId producer = facts_.Producer(input);
    if (producer == kNo<NodeId>) return {};
    const Meaning& before = meanings_[producer];
    if (first) {
      common = before;
    } else if (before.type != common.type) {
      return {};
    } else if (before.component != common.component) {
      common.component = Component::kNone;
    }
    first = false;
  }
  return IsHandedOn(common.type) ? common : Meaning();
}

bool ContainerRules::IsHandedOn(RoleType type) {
  return type == RoleType::kEmbedding || type == RoleType::kPosition ||
         type == RoleType::kPooling || type == RoleType::kHead ||
         type == RoleType::kRouting;
}

}  // namespace onnx_tag
