#include "structure/weights.h"

#include <algorithm>

#include "graph/neighbours.h"
#include "model/attributes.h"

namespace onnx_tag::structure {
Weight Weights::Find(ValueId value) const {
  constexpr int kFarthest = 4;  // carriers between a weight and its reader
  int transposes = 0;
  for (int i = 0; i <= kFarthest && value != kNo<ValueId>; ++i) {
    if (data_.Contains(value)) break;
    Weight weight{.value = value, .dims = {}};
    const NodeId from = model_.Producer(value);
    if (const Initializer* const tensor = model_.InitializerOf(value)) {
      const auto dims = model_.Dims(*tensor);
      weight.dims.assign(dims.begin(), dims.end());
    } else if (from != kNo<NodeId> && ops_.Is(from, OpKind::kConstant)) {
      const auto attribute = FindAttribute(model_.NodeBytes(from), "value");
      if (attribute) weight.dims = ReadTensorType(attribute->tensor).dims;
    } else if (from != kNo<NodeId> && ops_.Is(from, kCarriers)) {
      transposes += ops_.Is(from, OpKind::kTranspose) ? 1 : 0;
      value = FirstInput(model_, from);
      continue;
    }
    if (weight.dims.empty()) break;
    if (transposes % 2 != 0) {
      std::reverse(weight.dims.begin(), weight.dims.end());
    }
    return weight;
  }
  return {};
}

Weight Weights::Of(NodeId node, std::size_t rank) const {
  for (const ValueId input : model_.Inputs(node)) {
    if (input == kNo<ValueId> || data_.Contains(input)) continue;
    Weight weight = Find(input);
    if (weight.dims.size() >= rank) return weight;
  }
  return {};
}

}  // namespace onnx_tag::structure
