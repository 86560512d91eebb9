// Nodes that only turn a tensor around for the module beside them.
#include <vector>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

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

// ONNX's LSTM, GRU and RNN take and give other layouts than torch's: the
// exporter turns the tensors around before and behind them.
std::vector<Claim> AroundRecurrent(const Evidence& evidence,
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

// torch.nn.MultiheadAttention wants the sequence first. With batch_first it
// turns its inputs around, and its result back.
class PackedAttention {
 public:
  PackedAttention(const Evidence& evidence, const Placed& placed)
      : model_(evidence.model),
        placed_(placed),
        packs_(ModulesThatPack(evidence)),
        before_(evidence.modules.size()),
        behind_(evidence.modules.size()) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (placed_[node].tagged() || model_.OpType(node) != "Transpose") {
        continue;
      }
      const ModuleId reader = OnlyReader(node);
      if (reader != kNo<ModuleId>) before_[reader].push_back(node);
      const NodeId maker = ProducerOf(model_, FirstInput(model_, node));
      if (maker != kNo<NodeId> && placed_[maker].tagged() &&
          packs_[placed_[maker].module] && reader == kNo<ModuleId>) {
        behind_[placed_[maker].module].push_back(node);
      }
    }
    std::vector<Claim> claims;
    for (const ModuleId id : AllIds<ModuleId>(packs_.size())) {
      // One of them alone may be the caller's.
      if (before_[id].empty() || behind_[id].empty()) continue;
      for (const auto* const nodes : {&before_[id], &behind_[id]}) {
        for (const NodeId node : *nodes) {
          claims.push_back({node, id, Confidence::kMedium, Source::kOperation,
                            "a MultiheadAttention turns its inputs around, "
                            "and its result back"});
        }
      }
    }
    return claims;
  }

 private:
  // The attention of all nodes that read the data it makes, or kNo.
  ModuleId OnlyReader(NodeId node) const {
    ModuleId module = kNo<ModuleId>;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (model_.OpType(reader) == "Shape") continue;
        const ModuleId other = placed_[reader].module;
        if (!placed_[reader].tagged() || !packs_[other] ||
            (module != kNo<ModuleId> && module != other)) {
          return kNo<ModuleId>;
        }
        module = other;
      }
    }
    return module;
  }

  const Model& model_;
  const Placed& placed_;
  IdVector<ModuleId, bool> packs_;  // has the weights of three projections
  IdVector<ModuleId, std::vector<NodeId>> before_;
  IdVector<ModuleId, std::vector<NodeId>> behind_;
};

}  // namespace

std::vector<Claim> ProposeForLayouts(const Evidence& evidence,
                                     const Placed& placed) {
  std::vector<Claim> claims = AroundRecurrent(evidence, placed);
  const std::vector<Claim> more = PackedAttention(evidence, placed).Run();
  claims.insert(claims.end(), more.begin(), more.end());
  return claims;
}

}  // namespace onnx_tag
