#include "graph/neighbours.h"

namespace onnx_tag {

bool IsOfRecurrent(std::string_view parameter) {
  const std::string_view last = parameter.substr(parameter.rfind('.') + 1);
  return last.find("_ih_l") != std::string_view::npos ||
         last.find("_hh_l") != std::string_view::npos;
}

NodeId OnlyConsumer(const Model& model, NodeId node) {
  NodeId only = kNo<NodeId>;
  for (const ValueId output : model.Outputs(node)) {
    if (output == kNo<ValueId>) continue;
    if (model[output].is_output) return kNo<NodeId>;
    for (const NodeId consumer : model.Consumers(output)) {
      if (only != kNo<NodeId> && only != consumer) return kNo<NodeId>;
      only = consumer;
    }
  }
  return only;
}

}  // namespace onnx_tag
