#include "core/graph/constant_weights.h"

#include <utility>

#include "core/graph/neighbours.h"
#include "core/graph/operators.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"

namespace onnx_tag {
namespace {

// Floating-point numbers, and what quantized weights have.
bool IsWeightType(std::int32_t data_type) {
  constexpr std::int32_t kFloat8 = 17;  // the first of four
  constexpr std::int32_t kInt4 = 22;
  return IsFloat(data_type) || data_type == kUint8 || data_type == kInt8 ||
         (data_type >= kFloat8 && data_type <= kInt4);
}

bool IsSetting(const Model& model, const Operators& ops, ValueId value) {
  for (const NodeId reader : model.Consumers(value)) {
    const std::span<const ValueId> inputs = model.Inputs(reader);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == value &&
          Describe(ops[reader]).Input(i) != Operand::kSetting) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<ConstantWeight> FindConstantWeights(const Model& model) {
  std::vector<ConstantWeight> weights;
  if (model.FindName(Describe(Op::kConstant).name) == kNo<NameId>)
    return weights;
  const Operators ops(model);
  for (const NodeId node : model.Nodes()) {
    const ValueId output = FirstOutput(model, node);
    if (ops[node] != Op::kConstant || output == kNo<ValueId>) continue;
    const auto attribute = FindAttribute(model.NodeBytes(node), "value");
    if (!attribute || attribute->tensor.empty()) continue;
    TensorType type = ReadTensorType(attribute->tensor);
    const std::uint64_t elements = CountElements(type.dims);
    if (elements < 2 || !IsWeightType(type.data_type) ||
        IsSetting(model, ops, output)) {
      continue;
    }
    weights.push_back({output, type.data_type, std::move(type.dims), elements});
  }
  return weights;
}

}  // namespace onnx_tag
