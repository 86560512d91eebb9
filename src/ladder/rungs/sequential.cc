// Places items of a torch.nn.Sequential without parameters: activations, pools.
//
// The items of a Sequential run one after the other, and its numbers have no
// gaps. So nodes between the nodes of items 3 and 5, without other producers
// and consumers, are item 4.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "evidence/sequential_numbers.h"
#include "graph/data_values.h"
#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// Whether the operation is one module.
bool IsModuleOfItsOwn(std::string_view op) {
  static constexpr std::array<std::string_view, 24> kOps = {
      "Relu",          "LeakyRelu",   "Clip",
      "HardSwish",     "HardSigmoid", "Sigmoid",
      "Tanh",          "Elu",         "Selu",
      "PRelu",         "Softplus",    "Softmax",
      "LogSoftmax",    "Gelu",        "Celu",
      "Mish",          "MaxPool",     "AveragePool",
      "LpPool",        "Flatten",     "GlobalAveragePool",
      "GlobalMaxPool", "Resize",      "DepthToSpace"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

class SequentialParts {
 public:
  SequentialParts(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence),
        model_(evidence.model),
        tree_(evidence.modules),
        placed_(placed),
        data_(evidence.model) {}

  std::vector<Claim> Run() {
    std::vector<NodeId> gap;
    NodeId before = kNo<NodeId>;
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (!data_.IsMadeBy(node)) continue;
      if (!placed_[node].tagged()) {
        gap.push_back(node);
        continue;
      }
      if (before != kNo<NodeId> && !gap.empty()) Place(before, gap, node);
      before = node;
      gap.clear();
    }
    return std::move(claims_);
  }

 private:
  // Its number, if it is an item without children.
  std::optional<std::uint32_t> NumberOf(NodeId node) const {
    const ModuleId module = placed_[node].module;
    if (module == ModuleId{0} || placed_[node].confidence == Confidence::kLow ||
        !tree_.Children(module).empty()) {
      return std::nullopt;
    }
    return ItemNumber(tree_.Atom(module));
  }

  void Place(NodeId before, const std::vector<NodeId>& gap, NodeId after) {
    const auto first = NumberOf(before);
    const auto last = NumberOf(after);
    if (!first || !last || *last < *first + 2 ||
        *last - *first - 1 > kMostMissing) {
      return;
    }
    const ModuleId list = tree_.Parent(placed_[before].module);
    if (tree_.Parent(placed_[after].module) != list) return;
    const std::size_t missing = *last - *first - 1;
    const std::size_t parts = CountParts(gap);
    if (parts > missing || !IsClosed(before, gap, after)) return;
    // A missing item may be a Dropout, which leaves no node. After a
    // convolution it may also be a folded BatchNorm; then the order is unknown.
    if (parts < missing && IsConvolution(before)) return;
    for (std::size_t i = 0; i < gap.size(); ++i) {
      const std::size_t part = parts == 1 ? 0 : i;
      const ModuleId module =
          tree_.FindChild(list, std::to_string(*first + 1 + part));
      if (module == kNo<ModuleId>) return;
      claims_.push_back(
          {gap[i], module,
           parts == missing ? Confidence::kMedium : Confidence::kLow,
           Source::kLocality,
           "this number is between the numbers of its neighbours"});
    }
  }

  // The number of operations that are modules; or one module of several
  // operations.
  std::size_t CountParts(const std::vector<NodeId>& gap) const {
    const bool single = std::all_of(gap.begin(), gap.end(), [&](NodeId node) {
      return IsModuleOfItsOwn(model_.OpType(node));
    });
    return single ? gap.size() : 1;
  }

  bool IsConvolution(NodeId node) const {
    const std::string_view op = model_.OpType(node);
    return op == "Conv" || op == "ConvTranspose";
  }

  // Whether the gap has no other input than the node before it, and no other
  // output than the node after it.
  bool IsClosed(NodeId before, const std::vector<NodeId>& gap,
                NodeId after) const {
    const auto inside = [&](NodeId node) {
      return std::binary_search(gap.begin(), gap.end(), node);
    };
    for (const NodeId node : gap) {
      if (HasHiddenWeight(evidence_, node)) return false;
      for (const ValueId input : model_.Inputs(node)) {
        if (!data_.Contains(input)) continue;
        const NodeId producer = ProducerOf(model_, input);
        if (producer != before && !inside(producer)) return false;
      }
    }
    const auto leaves = [&](NodeId node) {
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId reader : model_.Consumers(output)) {
          if (reader != after && !inside(reader) &&
              model_.OpType(reader) != "Shape") {
            return true;
          }
        }
      }
      return false;
    };
    return !leaves(before) && std::none_of(gap.begin(), gap.end(), leaves);
  }

  const Evidence& evidence_;
  const Model& model_;
  const ModuleTree& tree_;
  const Placed& placed_;
  DataValues data_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForSequentialParts(const Evidence& evidence,
                                             const Placed& placed) {
  return SequentialParts(evidence, placed).Run();
}

}  // namespace onnx_tag
