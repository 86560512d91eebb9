#include "core/graph/links.h"

#include <algorithm>

#include "core/graph/neighbours.h"

namespace onnx_tag {

Links::Links(const Model& model, const Operators& ops, const DataValues& data)
    : model_(model), ops_(ops), data_(data) {
  for (const NodeId node : model.Nodes()) {
    if (!IsTransparent(node)) continue;
    if (source_.empty()) source_.resize(model.node_count(), kNo<ValueId>);
    // In a file that is not sorted, a chain ends at what comes later.
    source_[node] = Source(model.Inputs(node)[0]);
  }
  if (source_.empty()) return;
  reader_through_.resize(model.node_count(), kNo<NodeId>);
  for (std::size_t i = model.node_count(); i-- > 0;) {
    const auto node = MakeId<NodeId>(i);
    if (!IsTransparent(node)) continue;
    const NodeId next = NextReader(node);
    reader_through_[node] = next != kNo<NodeId> && IsTransparent(next)
                                ? reader_through_[next]
                                : next;
  }
}

ValueId Links::Source(ValueId value) const {
  const NodeId node = ProducerOf(model_, value);
  if (source_.empty() || node == kNo<NodeId> || !IsTransparent(node)) {
    return value;
  }
  return data_.Contains(model_.Inputs(node)[0]) ? source_[node] : value;
}

NodeId Links::Producer(NodeId reader, ValueId value,
                       std::initializer_list<Op> ops) const {
  const NodeId node = ProducerOf(model_, Source(value));
  return node != kNo<NodeId> && ops_.Is(node, ops) &&
                 model_[node].graph == model_[reader].graph &&
                 data_.IsMadeBy(node)
             ? node
             : kNo<NodeId>;
}

NodeId Links::NextReader(NodeId node) const {
  const NodeId only = OnlyConsumer(model_, FirstOutput(model_, node));
  return only == kNo<NodeId> || model_[only].graph != model_[node].graph
             ? kNo<NodeId>
             : only;
}

NodeId Links::OnlyReader(NodeId node, std::initializer_list<Op> ops) const {
  if (node == kNo<NodeId>) return node;
  NodeId only = NextReader(node);
  if (!source_.empty() && only != kNo<NodeId> && IsTransparent(only)) {
    only = reader_through_[only];
  }
  return ops_.Is(only, ops) ? only : kNo<NodeId>;
}

std::span<const ValueId> Links::Operands(NodeId node) const {
  const auto inputs = model_.Inputs(node);
  return inputs.first(std::min(inputs.size(), kMostOperands));
}

ValueId Links::ConstantOperand(NodeId node) const {
  for (const ValueId input : Operands(node)) {
    if (input != kNo<ValueId> && !data_.Contains(input)) return input;
  }
  return kNo<ValueId>;
}

Links::DataOperands Links::DataOperandsOf(NodeId node) const {
  DataOperands operands;
  for (const ValueId input : Operands(node)) {
    if (data_.Contains(input)) operands.Add(Source(input));
  }
  return operands;
}

ValueId Links::WeightOf(ValueId value) const {
  constexpr int kSteps = 4;
  constexpr OpKinds kPassesOn = {OpKind::kIdentity, OpKind::kCast,
                                 OpKind::kTranspose, OpKind::kDequantizer};
  for (int step = 0; value != kNo<ValueId>; ++step) {
    if (model_.InitializerOf(value) != nullptr) return value;
    const NodeId node = model_.Producer(value);
    if (node == kNo<NodeId>) {
      return data_.IsConstant(value) ? value : kNo<ValueId>;
    }
    if (step == kSteps || !ops_.Is(node, kPassesOn)) break;
    value = FirstInput(model_, node);
  }
  return kNo<ValueId>;
}

Links::TensorShape Links::ShapeOf(ValueId value) const {
  const ValueId weight = WeightOf(value);
  if (weight == kNo<ValueId>) return {};
  if (const Initializer* const tensor = model_.InitializerOf(weight)) {
    return {true, model_.Dims(*tensor)};
  }
  const ValueInfo* const info = model_.InfoOf(weight);
  if (info == nullptr || !info->has_shape) return {};
  return {true, model_.Dims(*info)};
}

}  // namespace onnx_tag
