#include "core/graph/constant_weights.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/graph/operators.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"

namespace onnx_tag {
namespace {

// Numbers of TensorProto.DataType: float, uint8, int8, float16, double,
// bfloat16, float8, uint4, int4.
bool IsWeightType(std::int32_t data_type) {
  constexpr std::array<std::int32_t, 12> kTypes = {1,  2,  3,  10, 11, 16,
                                                   17, 18, 19, 20, 21, 22};
  return std::find(kTypes.begin(), kTypes.end(), data_type) != kTypes.end();
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
  if (model.FindName("Constant") == kNo<NameId>) return weights;
  const Operators ops(model);
  for (const NodeId node : model.Nodes()) {
    const std::span<const ValueId> outputs = model.Outputs(node);
    if (ops[node] != Op::kConstant || outputs.empty() ||
        outputs[0] == kNo<ValueId>) {
      continue;
    }
    const auto attribute = FindAttribute(model.NodeBytes(node), "value");
    if (!attribute || attribute->tensor.empty()) continue;
    TensorType type = ReadTensorType(attribute->tensor);
    const std::uint64_t elements = CountElements(type.dims);
    if (elements < 2 || !IsWeightType(type.data_type) ||
        IsSetting(model, ops, outputs[0])) {
      continue;
    }
    weights.push_back(
        {outputs[0], type.data_type, std::move(type.dims), elements});
  }
  return weights;
}

}  // namespace onnx_tag
