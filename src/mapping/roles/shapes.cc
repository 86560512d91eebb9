// Operations, constants and shapes.
#include <unordered_map>

#include "mapping/roles/role_facts.h"

namespace onnx_tag {

ValueId RoleFacts::WeightOf(ValueId value) const {
  for (int step = 0; step < 6 && value != kNo<ValueId>; ++step) {
    if (model.InitializerOf(value) != nullptr) return value;
    const NodeId producer = model.Producer(value);
    if (producer == kNo<NodeId> || !IsConstant(value)) break;
    const auto inputs = model.Inputs(producer);
    if (inputs.empty()) break;
    value = inputs[0];
  }
  return kNo<ValueId>;
}

void GatherOps(RoleFacts& facts) {
  const Model& model = facts.model;
  facts.node_op.resize(model.node_count());
  std::unordered_map<std::uint32_t, std::uint16_t> numbers;
  facts.op_lines.emplace_back();
  for (const NodeId node : model.Nodes()) {
    const NameId name = model[node].op_type;
    const auto [at, added] =
        numbers.try_emplace(static_cast<std::uint32_t>(name), 0);
    // A file with more than 65,535 operators consists of its own functions; the
    // others count as plain operators.
    if (added && facts.op_lines.size() < 0xffff) {
      at->second = static_cast<std::uint16_t>(facts.op_lines.size());
      facts.op_lines.push_back(
          facts.words.Matching(RoleSubject::kOp, model.Name(name)));
    }
    facts.node_op[node] = at->second;
  }
}

void GatherShapes(RoleFacts& facts) {
  const Model& model = facts.model;
  facts.in_activation.assign(model.node_count(), false);
  facts.in_norm.assign(model.node_count(), false);
  const Composites& composites = facts.graph.composites();
  for (const Composites::Composite& composite : composites) {
    if (!IsActivation(composite.kind) && !IsNorm(composite.kind)) continue;
    std::vector<bool>& marks =
        IsNorm(composite.kind) ? facts.in_norm : facts.in_activation;
    for (const NodeId node : composites.Nodes(composite)) {
      marks[Index(node)] = true;
    }
  }
  facts.flow.resize(model.node_count(), 0);
  facts.reach.resize(model.node_count(), 0);
  for (const NodeId node : model.Nodes()) {
    const auto outputs = model.Outputs(node);
    if (facts.Is(node, OpKind::kShapeOf) ||
        (!outputs.empty() && facts.graph.data.IsSize(outputs[0]))) {
      facts.flow[node] = kFromShape;
    }
  }
}

}  // namespace onnx_tag
