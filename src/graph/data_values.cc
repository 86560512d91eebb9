#include "graph/data_values.h"

#include <algorithm>

namespace onnx_tag {

DataValues::DataValues(const Model& model)
    : model_(model), on_data_(model.value_count(), false) {
  for (const GraphId graph : model_.Graphs()) {
    for (const ValueId input : model_[graph].inputs) {
      if (model_.InitializerOf(input) == nullptr) on_data_[Index(input)] = true;
    }
  }
  for (const NodeId node : model_.Nodes()) {
    const std::string_view op = model_.OpType(node);
    if (op == "Shape" || op == "Size") continue;
    bool data = !model_.Subgraphs(node).empty();
    for (const ValueId input : model_.Inputs(node)) data |= Contains(input);
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) on_data_[Index(output)] = data;
    }
  }
}

bool DataValues::IsMadeBy(NodeId node) const {
  const auto outputs = model_.Outputs(node);
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId output) { return Contains(output); });
}

}  // namespace onnx_tag
