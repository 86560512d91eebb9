// torch.nn.MultiheadAttention wants the sequence first. With batch_first it
// turns its inputs around, and its result back.
#include <vector>

#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

class PackedAttention {
 public:
  PackedAttention(const Evidence& evidence, const Placed& placed)
      : model_(evidence.model),
        placed_(placed),
        packs_(evidence.modules.size(), false),
        before_(evidence.modules.size()),
        behind_(evidence.modules.size()) {
    for (const Parameter& parameter : evidence.parameters) {
      packs_[parameter.module] = packs_[parameter.module] ||
                                 parameter.name.ends_with(".in_proj_weight") ||
                                 parameter.name.ends_with(".in_proj_bias");
    }
  }

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

std::vector<Claim> ProposeForPackedAttention(const Evidence& evidence,
                                             const Placed& placed) {
  return PackedAttention(evidence, placed).Run();
}

}  // namespace onnx_tag
