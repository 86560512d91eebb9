// A codebook: the nearest row of a table is looked for, and looked up. The
// table is an Embedding's weight, used by the arithmetic of its owner, or a
// parameter of the owner itself.
#include <algorithm>
#include <array>
#include <vector>

#include "core/graph/data_values.h"
#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

class Codebooks {
 public:
  Codebooks(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence),
        model_(evidence.model),
        placed_(placed),
        data_(evidence.graph.data) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (model_.OpType(node) == "Gather") Consider(node);
    }
    return std::move(claims_);
  }

 private:
  static constexpr std::size_t kMostNodes = 32;

  // Follows the indices to the node that chose them.
  NodeId ChosenBy(NodeId gather) const {
    static constexpr std::array<std::string_view, 5> kBetween = {
        "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"};
    const auto inputs = model_.Inputs(gather);
    NodeId at = inputs.size() < 2 ? kNo<NodeId> : ProducerOf(model_, inputs[1]);
    while (at != kNo<NodeId> &&
           std::find(kBetween.begin(), kBetween.end(), model_.OpType(at)) !=
               kBetween.end()) {
      at = ProducerOf(model_, FirstInput(model_, at));
    }
    const bool chooses = at != kNo<NodeId> && (model_.OpType(at) == "ArgMin" ||
                                               model_.OpType(at) == "ArgMax");
    return chooses ? at : kNo<NodeId>;
  }

  // The open nodes that it depends on, itself first; empty if there are many.
  std::vector<NodeId> Before(NodeId last) const {
    std::vector<NodeId> nodes;
    if (!placed_[last].tagged()) nodes.push_back(last);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId input : model_.Inputs(nodes[i])) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer == kNo<NodeId> || !data_.Contains(input) ||
            placed_[producer].tagged() ||
            std::find(nodes.begin(), nodes.end(), producer) != nodes.end()) {
          continue;
        }
        if (nodes.size() == kMostNodes) return {};
        nodes.push_back(producer);
      }
    }
    return nodes;
  }

  void Consider(NodeId gather) {
    const ParameterId table = evidence_.ParameterOf(FirstInput(model_, gather));
    if (table == kNo<ParameterId>) return;
    const Parameter& parameter = evidence_.parameters[table];
    const NodeId chosen = ChosenBy(gather);
    if (chosen == kNo<NodeId> || parameter.rank < 2 ||
        parameter.module == ModuleId{0}) {
      return;
    }
    const ModuleId owner =
        IsPlainParameter(parameter.name)
            ? evidence_.Callable(evidence_.modules.Parent(parameter.module))
            : parameter.module;
    if (owner == ModuleId{0}) return;
    const std::vector<NodeId> nodes = Before(chosen);
    // Products with the rows, or with themselves: distances.
    const bool distances =
        std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
          return HasHiddenWeight(evidence_, node) ||
                 model_.OpType(node) == "Pow" || model_.OpType(node) == "Sub";
        });
    if (!distances) return;
    for (const NodeId node : nodes) {
      claims_.push_back(
          {node, owner, Confidence::kLow, Source::kOperation,
           "it looks for the nearest row of this module's table"});
    }
    if (placed_[gather].tagged()) return;
    claims_.push_back({gather, parameter.module, Confidence::kMedium,
                       Source::kParameter,
                       "it looks up the nearest row of this module's table"});
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  const DataValues& data_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForCodebooks(const Evidence& evidence,
                                       const Placed& placed) {
  return Codebooks(evidence, placed).Run();
}

}  // namespace onnx_tag
