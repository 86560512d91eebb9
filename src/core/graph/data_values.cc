#include "core/graph/data_values.h"

#include <algorithm>

#include "base/lists.h"
#include "core/graph/order.h"

namespace onnx_tag {
namespace {

// A product of weights is a result of the model, not a weight.
constexpr OpKinds kComputes = {OpKind::kProduct, OpKind::kConvolution,
                               OpKind::kSoftmax, OpKind::kAttention};
constexpr OpKinds kAlwaysData = {OpKind::kRandom, OpKind::kControl,
                                 OpKind::kGeneration};

}  // namespace

DataValues::DataValues(const Model& model, const Operators& ops,
                       const FunctionCalls& calls,
                       std::span<const ValueId> weights)
    : model_(model), facts_(model.value_count(), 0) {
  for (const ValueId value : AllIds<ValueId>(facts_.size())) {
    if (model_.Producer(value) != kNo<NodeId>) {
      facts_[value] = kUnread;
    } else if (model_.InitializerOf(value) == nullptr) {
      // An invalid file reads what nothing makes: neither data nor constant.
      facts_[value] = model_[value].is_input ? std::uint8_t{kData}
                                             : std::uint8_t{kSize | kMade};
    }
  }
  for (const ValueId weight : weights) facts_[weight] = 0;
  // The inputs of a body are data until its first call is known.
  bool sorted = true;
  for (const NodeId node : model_.Nodes()) sorted &= Visit(ops, node);
  // A converter to float16 puts its Casts anywhere.
  if (!sorted) {
    for (const NodeId node : ExecutionOrder(model_)) Visit(ops, node);
  }
  for (const FunctionId id : calls.CallersFirst()) {
    Bind(calls, id);
    for (const NodeId node : calls.Body(id)) Visit(ops, node);
  }
}

// The inputs of a body are those of its first call.
void DataValues::Bind(const FunctionCalls& calls, FunctionId id) {
  const auto& formals = model_[model_.functions()[Index(id)].body].inputs;
  const auto actuals = model_.Inputs(calls.FirstCall(id));
  for (std::size_t i = 0; i < std::min(formals.size(), actuals.size()); ++i) {
    if (actuals[i] != kNo<ValueId>) facts_[formals[i]] = facts_[actuals[i]];
  }
}

std::uint8_t DataValues::FactsOf(const Operators& ops, NodeId node) const {
  const Operator& op = Describe(ops[node]);
  if (op.kinds.HasAnyOf(kAlwaysData) || !model_.Subgraphs(node).empty()) {
    return kData;
  }
  const auto inputs = model_.Inputs(node);
  const bool lookup = op.kinds.HasAnyOf(OpKind::kLookup);
  const std::size_t operands = lookup ? 1 : op.first_setting;
  std::uint8_t facts = 0;
  std::uint8_t settings = 0;  // also the index of a lookup
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNo<ValueId>) continue;
    (i < operands ? facts : settings) |= facts_[inputs[i]];
  }
  if (op.kinds.HasAnyOf(OpKind::kShapeOf)) {
    return facts == 0 ? 0 : static_cast<std::uint8_t>(kSize);
  }
  if (((facts | settings) & kUnread) != 0) return kUnread;
  // Sizes that are moved stay sizes; a tensor made to a size is none.
  const bool sizes = facts == kSize && (settings & kData) == 0;
  if (!sizes && settings != 0) facts |= settings | kMade;
  if (facts == 0 && op.kinds.HasAnyOf(kComputes)) facts = kMade;
  return facts;
}

bool DataValues::Visit(const Operators& ops, NodeId node) {
  std::uint8_t facts = FactsOf(ops, node);
  const bool read = (facts & kUnread) == 0;
  if (!read) facts = kData;
  for (const ValueId output : model_.Outputs(node)) {
    if (output != kNo<ValueId>) facts_[output] = facts;
  }
  return read;
}

bool DataValues::IsMadeBy(NodeId node) const {
  return AnyIn(model_.Outputs(node),
               [&](ValueId output) { return Contains(output); });
}

}  // namespace onnx_tag
