// Nodes about which nothing is said: where their neighbours are.
#include <algorithm>

#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

class Neighbours {
 public:
  Neighbours(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence), model_(evidence.model), placed_(placed) {}

  // In rounds, from the placed nodes outwards. A round looks only at
  // neighbours of what the round before placed, so that the whole costs as
  // much as the graph has edges.
  std::vector<Claim> Run() {
    std::vector<NodeId> frontier;
    for (const NodeId node : model_.Nodes()) {
      if (!placed_[node].tagged()) frontier.push_back(node);
    }
    while (!frontier.empty()) {
      const std::size_t first = claims_.size();
      for (const NodeId node : frontier) Consider(node);
      frontier.clear();
      for (std::size_t i = first; i < claims_.size(); ++i) {
        placed_[claims_[i].node].module = claims_[i].module;
      }
      for (std::size_t i = first; i < claims_.size(); ++i) {
        ForEachNeighbour(claims_[i].node, [&](NodeId other) {
          if (!placed_[other].tagged()) frontier.push_back(other);
        });
      }
      std::sort(frontier.begin(), frontier.end());
      frontier.erase(std::unique(frontier.begin(), frontier.end()),
                     frontier.end());
    }
    return std::move(claims_);
  }

 private:
  template <typename Use>
  void ForEachNeighbour(NodeId node, Use&& use) const {
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = ProducerOf(model_, input);
      if (producer != kNo<NodeId>) use(producer);
    }
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId consumer : model_.Consumers(output)) use(consumer);
    }
  }

  // What lies between placed nodes is around them; what hangs on one side of
  // them only may be of any module.
  void Consider(NodeId node) {
    const ModuleId before = Around(node, true);
    const ModuleId after = Around(node, false);
    if (after == kNo<ModuleId> ||
        (before == kNo<ModuleId> && !IsConstant(node))) {
      return;
    }
    const ModuleId module =
        before == kNo<ModuleId>
            ? after
            : evidence_.modules.CommonAncestor(before, after);
    claims_.push_back({node, evidence_.Callable(module), Confidence::kLow,
                       Source::kLocality,
                       before == after ? "its neighbours are of this module"
                                       : "the module around its neighbours"});
  }

  bool IsConstant(NodeId node) const {
    const auto outputs = model_.Outputs(node);
    return !outputs.empty() && outputs[0] != kNo<ValueId> &&
           evidence_.constant_value[Index(outputs[0])];
  }

  // The module around the placed producers, or consumers, of `node`.
  ModuleId Around(NodeId node, bool producers) const {
    ModuleId module = kNo<ModuleId>;
    const auto add = [&](NodeId other) {
      const ModuleId theirs = placed_[other].module;
      if (theirs == kNo<ModuleId>) return;
      module = module == kNo<ModuleId>
                   ? theirs
                   : evidence_.modules.CommonAncestor(module, theirs);
    };
    if (producers) {
      for (const ValueId input : model_.Inputs(node)) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer != kNo<NodeId>) add(producer);
      }
      return module;
    }
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId consumer : model_.Consumers(output)) add(consumer);
    }
    return module;
  }

  const Evidence& evidence_;
  const Model& model_;
  Placed placed_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeFromNeighbours(const Evidence& evidence,
                                         const Placed& placed) {
  return Neighbours(evidence, placed).Run();
}

}  // namespace onnx_tag
