// Nodes without names between the named nodes of a converter.
#include <numeric>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// Connected open nodes, and the placed nodes around them.
class Regions {
 public:
  Regions(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence),
        placed_(placed),
        leader_(evidence.model.node_count()),
        module_(evidence.model.node_count(), kNo<ModuleId>),
        touches_(evidence.model.node_count(), false) {
    std::iota(leader_.begin(), leader_.end(), std::size_t{0});
    ForEachEdge([&](NodeId from, NodeId to) {
      if (Open(from) && Open(to)) leader_[Leader(from)] = Leader(to);
    });
    ForEachEdge([&](NodeId from, NodeId to) {
      if (Open(from) && !Open(to)) Surround(from, placed_[to].module);
      if (Open(to) && !Open(from)) Surround(to, placed_[from].module);
    });
    ForEachEdge([&](NodeId from, NodeId to) {
      if (Open(from) && !Open(to)) Touch(from, placed_[to].module);
      if (Open(to) && !Open(from)) Touch(to, placed_[from].module);
    });
  }

  // The innermost module that contains the placed nodes around; kNo if there
  // are none.
  ModuleId Around(NodeId node) { return module_[Leader(node)]; }
  // Whether one of them is in that module itself.
  bool Touches(NodeId node) { return touches_[Leader(node)]; }

 private:
  bool Open(NodeId node) const { return !placed_[node].tagged(); }

  template <typename Function>
  void ForEachEdge(Function function) const {
    const Model& model = evidence_.model;
    for (const NodeId node : model.Nodes()) {
      for (const ValueId input : model.Inputs(node)) {
        const NodeId producer = ProducerOf(model, input);
        if (producer != kNo<NodeId> &&
            !evidence_.graph.data.IsConstant(input)) {
          function(producer, node);
        }
      }
    }
  }

  std::size_t Leader(NodeId node) {
    std::size_t at = Index(node);
    while (leader_[at] != at) {
      leader_[at] = leader_[leader_[at]];
      at = leader_[at];
    }
    return at;
  }

  void Surround(NodeId node, ModuleId module) {
    ModuleId& around = module_[Leader(node)];
    around = evidence_.modules.Join(around, module);
  }

  void Touch(NodeId node, ModuleId module) {
    const std::size_t leader = Leader(node);
    if (module_[leader] == module) touches_[leader] = true;
  }

  const Evidence& evidence_;
  const Placed& placed_;
  std::vector<std::size_t> leader_;
  std::vector<ModuleId> module_;
  std::vector<bool> touches_;
};

}  // namespace

// tf2onnx writes an Einsum or an LSTM as dozens of nodes without a scope. They
// belong to the innermost layer that contains all connected nodes.
std::vector<Claim> ProposeForUnnamedRegions(const Evidence& evidence,
                                            const Placed& placed) {
  std::vector<Claim> claims;
  if (evidence.dialect != hierarchy::Dialect::kTf2onnx) return claims;
  Regions regions(evidence, placed);
  for (const NodeId node : evidence.model.Nodes()) {
    if (placed[node].tagged()) continue;
    const ModuleId module = regions.Around(node);
    if (module == kNo<ModuleId>) continue;
    const Confidence confidence = module == ModuleId{0}   ? Confidence::kLow
                                  : regions.Touches(node) ? Confidence::kHigh
                                                          : Confidence::kMedium;
    claims.push_back({node, module, confidence, Source::kLocality,
                      "it is connected to named nodes of this layer"});
  }
  return claims;
}

}  // namespace onnx_tag
