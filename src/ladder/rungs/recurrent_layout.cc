// ONNX's LSTM, GRU and RNN take and give other layouts than torch's: the
// exporter turns the tensors around before and behind them.
#include <vector>

#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kMostTurns = 4;

bool IsTurn(std::string_view op) {
  return op == "Transpose" || op == "Reshape" || op == "Squeeze";
}

// The only node that reads a value, Shapes not counted.
NodeId OnlyReader(const Model& model, ValueId value) {
  NodeId reader = kNo<NodeId>;
  if (value == kNo<ValueId> || model[value].is_output) return reader;
  for (const NodeId consumer : model.Consumers(value)) {
    if (model.OpType(consumer) == "Shape") continue;
    if (reader != kNo<NodeId>) return kNo<NodeId>;
    reader = consumer;
  }
  return reader;
}

}  // namespace

std::vector<Claim> ProposeForRecurrentLayout(const Evidence& evidence,
                                             const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  const auto claim = [&](NodeId node, ModuleId module) {
    if (placed[node].tagged()) return;
    claims.push_back({node, module, Confidence::kMedium, Source::kOperation,
                      "it turns around what this module takes or gives"});
  };
  for (const NodeId node : model.Nodes()) {
    const std::string_view op = model.OpType(node);
    if (!placed[node].tagged() ||
        (op != "LSTM" && op != "GRU" && op != "RNN")) {
      continue;
    }
    const ModuleId module = placed[node].module;
    const auto outputs = model.Outputs(node);
    ValueId value = outputs.empty() ? kNo<ValueId> : outputs[0];
    bool turned = false;  // back to the batch in front
    for (std::size_t i = 0; i < kMostTurns; ++i) {
      const NodeId next = OnlyReader(model, value);
      if (next == kNo<NodeId> || !IsTurn(model.OpType(next))) break;
      turned = i > 0 && model.OpType(next) == "Transpose";
      claim(next, module);
      value = model.Outputs(next)[0];
    }
    const auto inputs = model.Inputs(node);
    const NodeId before =
        inputs.empty() ? kNo<NodeId> : ProducerOf(model, inputs[0]);
    if (turned && before != kNo<NodeId> &&
        model.OpType(before) == "Transpose" &&
        OnlyConsumer(model, before) == node) {
      claim(before, module);
    }
  }
  return claims;
}

}  // namespace onnx_tag
