// Places items of a torch.nn.Sequential without parameters: activations, pools.
//
// The items of a Sequential run one after the other, and its numbers have no
// gaps. So nodes between the nodes of items 3 and 5, without other producers
// and consumers, are item 4. Where it is not clear which of the items they are,
// they are still inside the Sequential. So is what follows the last item that
// is known, if the same follows an item before it, or if there is no other:
// nobody makes a Sequential of one.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evidence/sequential_numbers.h"
#include "graph/data_values.h"
#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// Whether the operation is one module.
bool IsModuleOfItsOwn(std::string_view op) {
  static constexpr std::array<std::string_view, 28> kOps = {
      "Relu",
      "LeakyRelu",
      "Clip",
      "HardSwish",
      "HardSigmoid",
      "Sigmoid",
      "Tanh",
      "Elu",
      "Selu",
      "PRelu",
      "Softplus",
      "Softmax",
      "LogSoftmax",
      "Gelu",
      "Celu",
      "Mish",
      "MaxPool",
      "AveragePool",
      "LpPool",
      "Flatten",
      "GlobalAveragePool",
      "GlobalMaxPool",
      "Resize",
      "DepthToSpace",
      "QuickGelu",
      "LayerNormalization",
      "BatchNormalization",
      "Swish"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

// What one module becomes, in the order of the file; longer ones first.
using Pattern = std::span<const std::string_view>;

template <std::size_t kSize>
using Ops = std::array<std::string_view, kSize>;

constexpr Ops<5> kGroupNorm = {"Reshape", "InstanceNormalization", "Reshape",
                               "Mul", "Add"};
constexpr Ops<5> kGelu = {"Div", "Erf", "Add", "Mul", "Mul"};
constexpr Ops<5> kGeluOfProducts = {"Mul", "Erf", "Add", "Mul", "Mul"};
constexpr Ops<4> kHardSwish = {"Add", "Clip", "Mul", "Div"};
constexpr Ops<4> kHardSwishDivided = {"Add", "Clip", "Div", "Mul"};
constexpr Ops<3> kPlainGroupNorm = {"Reshape", "InstanceNormalization",
                                    "Reshape"};
constexpr Ops<3> kMish = {"Softplus", "Tanh", "Mul"};
constexpr Ops<2> kSilu = {"Sigmoid", "Mul"};
constexpr Ops<2> kHardSwishOfSigmoid = {"HardSigmoid", "Mul"};

const std::array<Pattern, 9>& Patterns() {
  static const std::array<Pattern, 9> kPatterns = {
      Pattern(kGroupNorm),
      Pattern(kGelu),
      Pattern(kGeluOfProducts),
      Pattern(kHardSwish),
      Pattern(kHardSwishDivided),
      Pattern(kPlainGroupNorm),
      Pattern(kMish),
      Pattern(kSilu),
      Pattern(kHardSwishOfSigmoid)};
  return kPatterns;
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
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (placed_[node].tagged() && data_.IsMadeBy(node) && NumberOf(node)) {
        PlaceBehind(node);
        last_of_[placed_[node].module] = node;
      }
    }
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (placed_[node].tagged() && data_.IsMadeBy(node) && NumberOf(node)) {
        PlaceTail(node);
      }
    }
    return std::move(claims_);
  }

 private:
  // More is not between two items.
  static constexpr std::size_t kMostNodes = 64;
  static constexpr std::size_t kMostOfPart = 8;

  // Its number, if it is an item without children.
  std::optional<std::uint32_t> NumberOf(NodeId node) const {
    const ModuleId module = placed_[node].module;
    if (module == ModuleId{0} || placed_[node].confidence == Confidence::kLow ||
        !tree_.Children(module).empty()) {
      return std::nullopt;
    }
    return ItemNumber(tree_.Atom(module));
  }

  // Follows the data to the next placed node.
  void PlaceBehind(NodeId before) {
    std::vector<NodeId> gap;
    NodeId after = kNo<NodeId>;
    std::vector<NodeId> open = {before};
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const ValueId output : model_.Outputs(open[i])) {
        if (output == kNo<ValueId>) continue;
        if (model_[output].is_output) return;
        for (const NodeId reader : model_.Consumers(output)) {
          if (!data_.IsMadeBy(reader)) continue;
          if (placed_[reader].tagged()) {
            // The same module makes several nodes, such as a product and the
            // sum with its bias.
            if (after == kNo<NodeId>) after = reader;
            if (placed_[reader].module != placed_[after].module) return;
          } else if (std::find(gap.begin(), gap.end(), reader) == gap.end()) {
            if (gap.size() == kMostNodes) return;
            gap.push_back(reader);
            open.push_back(reader);
          }
        }
      }
    }
    if (gap.empty() || after == kNo<NodeId>) return;
    std::sort(gap.begin(), gap.end());
    if (HasOtherInputs(before, gap)) return;
    Place(before, gap, after);
  }

  // The activation or norm that alone reads what the node makes.
  std::vector<NodeId> PartBehind(NodeId node) const {
    std::vector<NodeId> part;
    std::vector<NodeId> made = {node};
    // A part of several nodes reads its input more than once.
    for (std::size_t i = 0; i < made.size() && part.size() < kMostOfPart; ++i) {
      for (const ValueId output : model_.Outputs(made[i])) {
        if (output == kNo<ValueId> || model_[output].is_output) continue;
        for (const NodeId reader : model_.Consumers(output)) {
          if (!data_.IsMadeBy(reader) ||
              std::find(part.begin(), part.end(), reader) != part.end()) {
            continue;
          }
          if (placed_[reader].tagged()) continue;
          part.push_back(reader);
          made.push_back(reader);
        }
      }
    }
    std::sort(part.begin(), part.end());
    if (part.empty() || HasHiddenWeight(evidence_, part[0])) return {};
    part.resize(PartAt(part));
    // A gate multiplies the result of a Sigmoid with something else.
    if (part.size() > 1 && HasOtherInputs(node, part) &&
        IsModuleOfItsOwn(model_.OpType(part[0]))) {
      part.resize(1);
    }
    if (HasOtherInputs(node, part)) return {};
    return part;
  }

  // Whether nobody but the part reads what the node makes.
  bool IsAlone(NodeId node, const std::vector<NodeId>& part) const {
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      if (model_[output].is_output) return false;
      for (const NodeId reader : model_.Consumers(output)) {
        if (data_.IsMadeBy(reader) &&
            !std::binary_search(part.begin(), part.end(), reader)) {
          return false;
        }
      }
    }
    return true;
  }

  void PlaceTail(NodeId last) {
    const ModuleId item = placed_[last].module;
    const ModuleId list = tree_.Parent(item);
    NodeId other = kNo<NodeId>;  // of an item before it
    std::size_t items = 0;
    for (const ModuleId child : tree_.Children(list)) {
      if (!evidence_.HasParameterAt(child)) continue;
      ++items;
      if (NumberAt(child) > NumberAt(item)) return;
      if (child != item && last_of_.contains(child)) {
        other = last_of_.at(child);
      }
    }
    const std::vector<NodeId> part = PartBehind(last);
    if (part.empty() || !IsAlone(last, part)) return;
    const bool single = items == 1 && NumberAt(item) == 0U;
    if (!single) {
      if (other == kNo<NodeId>) return;
      const std::vector<NodeId> twin = PartBehind(other);
      if (twin.size() != part.size() ||
          !std::equal(part.begin(), part.end(), twin.begin(),
                      [&](NodeId a, NodeId b) {
                        return model_.OpType(a) == model_.OpType(b);
                      })) {
        return;
      }
    }
    for (const NodeId node : part) {
      claims_.push_back({node, list, Confidence::kLow, Source::kLocality,
                         "a Sequential goes on like this"});
    }
  }

  std::optional<std::uint32_t> NumberAt(ModuleId module) const {
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
    const std::size_t folded = HasFoldedNorm(before) ? 1 : 0;
    const std::size_t missing = *last - *first - 1 - folded;
    const std::optional<std::vector<std::size_t>> parts = FindParts(gap);
    const std::size_t count = parts ? parts->back() + 1 : 1;
    // A missing item may be a Dropout, which leaves no node. Behind a
    // convolution it may also be a folded BatchNorm; then the order is unknown.
    const bool dropout =
        count == 1 && missing == 2 && folded == 0 && !IsConvolution(before);
    const bool clear = parts ? count == missing || dropout : missing == 1;
    for (std::size_t i = 0; i < gap.size(); ++i) {
      const std::size_t part = parts ? (*parts)[i] : 0;
      const ModuleId item =
          clear ? tree_.FindChild(list,
                                  std::to_string(*first + 1 + folded + part))
                : kNo<ModuleId>;
      claims_.push_back(
          {gap[i], item == kNo<ModuleId> ? list : item,
           item != kNo<ModuleId> && count == missing ? Confidence::kMedium
                                                     : Confidence::kLow,
           Source::kLocality,
           "this number is between the numbers of its neighbours"});
    }
  }

  bool IsConvolution(NodeId node) const {
    return model_.OpType(node).find("Conv") != std::string_view::npos;
  }

  // dynamo names the bias of a convolution after the weight if it comes from
  // the BatchNorm behind it.
  bool HasFoldedNorm(NodeId node) const {
    for (const ValueId input : model_.Inputs(node)) {
      const ParameterId id = evidence_.ParameterOf(input);
      if (id != kNo<ParameterId> &&
          evidence_.parameters[id].name.ends_with(".weight_bias")) {
        return true;
      }
    }
    return false;
  }

  // By node, which of the modules between it is; nullopt if that is not clear.
  std::optional<std::vector<std::size_t>> FindParts(
      const std::vector<NodeId>& gap) const {
    std::vector<std::size_t> parts;
    std::size_t count = 0;
    while (parts.size() < gap.size()) {
      const std::size_t size = PartAt(std::span(gap).subspan(parts.size()));
      if (size == 0) return std::nullopt;
      parts.insert(parts.end(), size, count++);
    }
    return parts;
  }

  // How many nodes the module that begins here has; 0: unknown.
  std::size_t PartAt(std::span<const NodeId> nodes) const {
    for (const Pattern& pattern : Patterns()) {
      if (pattern.size() > nodes.size()) continue;
      bool same = true;
      for (std::size_t i = 0; i < pattern.size(); ++i) {
        same = same && model_.OpType(nodes[i]) == pattern[i];
      }
      if (same) return pattern.size();
    }
    if (HasHiddenWeight(evidence_, nodes[0])) {
      const bool bias = nodes.size() > 1 && model_.OpType(nodes[1]) == "Add" &&
                        MatMulBefore(evidence_, nodes[1]) == nodes[0];
      return bias ? 2 : 1;
    }
    return IsModuleOfItsOwn(model_.OpType(nodes[0])) ? 1 : 0;
  }

  // Whether the nodes read data of others than `before`.
  bool HasOtherInputs(NodeId before, const std::vector<NodeId>& gap) const {
    for (const NodeId node : gap) {
      for (const ValueId input : model_.Inputs(node)) {
        if (!data_.Contains(input)) continue;
        const NodeId producer = ProducerOf(model_, input);
        if (producer != before &&
            !std::binary_search(gap.begin(), gap.end(), producer)) {
          return true;
        }
      }
    }
    return false;
  }

  const Evidence& evidence_;
  const Model& model_;
  const ModuleTree& tree_;
  const Placed& placed_;
  DataValues data_;
  std::map<ModuleId, NodeId> last_of_;  // the last node of an item
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForSequentialParts(const Evidence& evidence,
                                             const Placed& placed) {
  return SequentialParts(evidence, placed).Run();
}

}  // namespace onnx_tag
