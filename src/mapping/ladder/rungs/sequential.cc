// Places items of a torch.nn.Sequential without parameters: activations, pools.
//
// The items of a Sequential run one after the other, and its numbers have no
// gaps. So nodes between the nodes of items 3 and 5, without other producers
// and consumers, are item 4. Where it is not clear which of the items they are,
// they are still inside the Sequential. So is what follows the last item that
// is known, if the same follows an item before it, or if there is no other
// (nobody makes a Sequential of one), or if the next module of the same owner
// reads it. And an activation before item 1 is item 0.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/data_values.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/evidence/evidence.h"
#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// Whether the operation is one module. An Identity is a Dropout, without
// optimization.
bool IsModuleOfItsOwn(const Operators& ops, NodeId node) {
  return ops.Is(node, {OpKind::kActivation, OpKind::kSoftmax, OpKind::kPool,
                       OpKind::kDropout, OpKind::kIdentity}) ||
         ops.Is(node, {Op::kFlatten, Op::kResize, Op::kDepthToSpace,
                       Op::kLayerNormalization, Op::kBatchNormalization});
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
        ops_(evidence.graph.ops),
        data_(evidence.graph.data) {
    using hierarchy::Dialect;
    dynamo_ = evidence.dialect == Dialect::kDynamo ||
              evidence.dialect == Dialect::kDynamoStripped;
    for (const Initializer& tensor : model_.initializers()) {
      const std::string_view name = model_.ValueName(tensor.value);
      renames_ = renames_ || name.starts_with("onnx::");
      dynamo_ = dynamo_ || name.starts_with("val_");
    }
  }

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
        PlaceHead(node);
      }
    }
    return std::move(claims_);
  }

 private:
  // More is not between two items.
  static constexpr std::size_t kMostNodes = 64;
  static constexpr std::size_t kMostOfPart = 8;

  // What follows an item: operators, and by node which of the modules it is.
  struct Trail {
    std::vector<std::string_view> ops;
    std::vector<std::size_t> parts;
  };

  // Whether the BatchNorm behind a product was folded into it.
  enum class Folded : std::uint8_t { kNo, kYes, kUnknown };

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
    // Who makes a tensor has its quantizer, too.
    std::erase_if(gap, [&](NodeId node) { return IsQuantizer(node); });
    if (!gap.empty()) Place(before, gap, after);
  }

  // The open nodes behind a node, in the order of the file.
  std::vector<NodeId> OpenBehind(NodeId node, std::size_t most) const {
    std::vector<NodeId> part;
    std::vector<NodeId> made = {node};
    // A part of several nodes reads its input more than once.
    for (std::size_t i = 0; i < made.size() && part.size() < most; ++i) {
      for (const ValueId output : model_.Outputs(made[i])) {
        if (output == kNo<ValueId> || model_[output].is_output) continue;
        for (const NodeId reader : model_.Consumers(output)) {
          if (!data_.IsMadeBy(reader) ||
              std::find(part.begin(), part.end(), reader) != part.end()) {
            continue;
          }
          if (placed_[reader].tagged() || IsQuantizer(reader)) continue;
          if (part.size() == kMostNodes) break;
          part.push_back(reader);
          made.push_back(reader);
        }
      }
    }
    std::sort(part.begin(), part.end());
    return part;
  }

  // The activation or norm that alone reads what the node makes.
  std::vector<NodeId> PartBehind(NodeId node) const {
    std::vector<NodeId> part = OpenBehind(node, kMostOfPart);
    if (part.empty() || HasHiddenWeight(evidence_, part[0])) return {};
    part.resize(PartAt(part));
    // A gate multiplies the result of a Sigmoid with something else.
    if (part.size() > 1 && HasOtherInputs(node, part) &&
        IsModuleOfItsOwn(ops_, part[0])) {
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
    const Items& items = ItemsOf(list);
    if (items.last_number > NumberAt(item)) return;
    const ModuleId before =
        items.last != item ? items.last : items.last_but_one;
    // Of an item before it.
    const NodeId other =
        before == kNo<ModuleId> ? kNo<NodeId> : last_of_.at(before);
    if (PlaceTrail(last, list)) return;
    std::vector<NodeId> part = PartBehind(last);
    if (part.empty() || !IsAlone(last, part)) return;
    const bool single = items.count == 1 && NumberAt(item) == 0U;
    if (!single && !GoesOnLike(other, part) && !LeadsToSibling(part, list)) {
      return;
    }
    std::size_t number = 1;
    const bool norm = IsNorm(part);
    do {
      ClaimTail(last, number++, part, norm);
      if (!IsNorm(part)) return;
      const NodeId end = part.back();
      part = PartBehind(end);
      if (!part.empty() && !IsAlone(end, part)) return;
    } while (!part.empty());
  }

  // The items of a list that have a parameter.
  struct Items {
    std::size_t count = 0;
    std::optional<std::uint32_t> last_number;
    // The last two that have nodes.
    ModuleId last = kNo<ModuleId>;
    ModuleId last_but_one = kNo<ModuleId>;
  };

  // Found once: a list may have as many items as the file has nodes.
  const Items& ItemsOf(ModuleId list) {
    const auto [at, is_new] = items_.try_emplace(list);
    Items& items = at->second;
    if (!is_new) return items;
    for (const ModuleId child : tree_.Children(list)) {
      if (!evidence_.HasParameterAt(child)) continue;
      ++items.count;
      items.last_number = std::max(items.last_number, NumberAt(child));
      if (!last_of_.contains(child)) continue;
      items.last_but_one = std::exchange(items.last, child);
    }
    return items;
  }

  // Whether the same follows an item before the last, and leads to the next.
  bool GoesOnLike(NodeId other, const std::vector<NodeId>& part) const {
    if (other == kNo<NodeId>) return false;
    const std::vector<NodeId> twin = PartBehind(other);
    if (OpsOf(twin) != OpsOf(part)) return false;
    const ModuleId list = tree_.Parent(placed_[other].module);
    for (const ValueId output : model_.Outputs(twin.back())) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (placed_[reader].tagged() &&
            tree_.IsAncestor(list, placed_[reader].module)) {
          return true;
        }
      }
    }
    return false;
  }

  // Whether only another module of the Sequential's owner reads the activation.
  // A result that leaves the owner may well have an activation of the owner.
  bool LeadsToSibling(const std::vector<NodeId>& part, ModuleId list) const {
    const NodeId reader = OnlyConsumer(model_, part.back());
    return reader != kNo<NodeId> && placed_[reader].tagged() &&
           placed_[reader].confidence > Confidence::kMedium &&
           !tree_.IsAncestor(list, placed_[reader].module) &&
           tree_.IsAncestor(tree_.Parent(list), placed_[reader].module) &&
           tree_.Parent(list) != ModuleId{0} && ops_.Is(reader, kWeighing) &&
           (part.size() > 1 || !IsGate(part[0]));
  }

  bool IsNorm(const std::vector<NodeId>& part) const {
    return std::any_of(part.begin(), part.end(), [&](NodeId node) {
      return ops_.Is(node, OpKind::kNorm);
    });
  }

  // Claims the part as the item with this distance from the one of `last`.
  void ClaimTail(NodeId last, std::size_t distance,
                 const std::vector<NodeId>& part, bool norm_follows) {
    const ModuleId item = placed_[last].module;
    const ModuleId list = tree_.Parent(item);
    // Nobody puts another norm behind a BatchNorm.
    const Folded folded = norm_follows ? Folded::kNo : FoldedInto(last);
    ModuleId next = kNo<ModuleId>;
    if (folded != Folded::kUnknown) {
      next = tree_.FindChild(list,
                             std::to_string(*NumberAt(item) + distance +
                                            (folded == Folded::kYes ? 1 : 0)));
    }
    for (const NodeId node : part) {
      claims_.push_back({node, next == kNo<ModuleId> ? list : next,
                         Confidence::kLow, Source::kLocality,
                         "the items of a Sequential run one after the other"});
    }
  }

  // Places what follows the last item as what follows an item before it.
  bool PlaceTrail(NodeId last, ModuleId list) {
    for (const Trail& trail : trails_[list]) {
      std::vector<NodeId> nodes = OpenBehind(last, trail.ops.size());
      if (OpsOf(nodes) != trail.ops || !IsAlone(last, nodes) ||
          HasOtherInputs(last, nodes)) {
        continue;
      }
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        ClaimTail(last, trail.parts[i] + 1, {nodes[i]}, false);
      }
      return true;
    }
    return false;
  }

  // An activation that only the first known item reads, which is item 1.
  void PlaceHead(NodeId first) {
    const ModuleId item = placed_[first].module;
    const ModuleId list = tree_.Parent(item);
    if (NumberAt(item) != 1U || !ops_.Is(first, kWeighing)) return;
    const ModuleId head = tree_.FindChild(list, "0");
    if (head == kNo<ModuleId> || evidence_.HasParameterAt(head)) return;
    NodeId reader = first;
    NodeId before = ProducerOf(model_, FirstInput(model_, first));
    if (before != kNo<NodeId> && IsQuantizer(before)) {
      reader = before;
      before = ProducerOf(model_, FirstInput(model_, before));
    }
    if (before == kNo<NodeId> || placed_[before].tagged() ||
        !ops_.Is(before, OpKind::kActivation) || IsGate(before) ||
        OnlyConsumer(model_, before) != reader) {
      return;
    }
    claims_.push_back({before, head, Confidence::kLow, Source::kLocality,
                       "a Sequential begins with it"});
  }

  bool IsQuantizer(NodeId node) const {
    return model_.OpType(node) == "DynamicQuantizeLinear";
  }

  // Often it is no module, but a call in the code of the owner.
  bool IsGate(NodeId node) const {
    return ops_.Is(node, {Op::kSigmoid, Op::kTanh, Op::kSoftmax});
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
    const Folded norm = FoldedInto(before);
    const std::size_t folded = norm == Folded::kYes ? 1 : 0;
    const std::size_t missing = *last - *first - 1 - folded;
    std::optional<std::vector<std::size_t>> parts = FindParts(gap, false);
    bool clear = !parts && missing == 1;
    const bool loose = !parts && missing > 1;
    if (loose) parts = FindParts(gap, true);
    const std::size_t count = parts ? parts->back() + 1 : 1;
    // The last missing item may be a Dropout, which leaves no node. Behind a
    // convolution the first may also be a folded BatchNorm; then the order is
    // unknown.
    const bool dropout = count + 1 == missing && norm != Folded::kUnknown;
    if (parts) clear = count == missing || dropout;
    if (clear && parts) trails_[list].push_back({OpsOf(gap), *parts});
    for (std::size_t i = 0; i < gap.size(); ++i) {
      const std::size_t part = parts ? (*parts)[i] : 0;
      const ModuleId item =
          clear ? tree_.FindChild(list,
                                  std::to_string(*first + 1 + folded + part))
                : kNo<ModuleId>;
      claims_.push_back(
          {gap[i], item == kNo<ModuleId> ? list : item,
           item != kNo<ModuleId> && count == missing && !loose
               ? Confidence::kMedium
               : Confidence::kLow,
           Source::kLocality,
           "this number is between the numbers of its neighbours"});
    }
  }

  std::vector<std::string_view> OpsOf(const std::vector<NodeId>& nodes) const {
    std::vector<std::string_view> ops;
    for (const NodeId node : nodes) ops.push_back(model_.OpType(node));
    return ops;
  }

  // Whether a BatchNorm was folded into the product. TorchScript renames the
  // weight then. dynamo names the bias after the weight if there was none
  // before, and the result after the BatchNorm's, of which it takes an item.
  Folded FoldedInto(NodeId node) const {
    const std::string_view op = model_.OpType(node);
    bool weight = false;
    for (const ValueId input : model_.Inputs(node)) {
      const ParameterId id = evidence_.ParameterOf(input);
      if (id == kNo<ParameterId>) continue;
      const std::string_view name = evidence_.parameters[id].name;
      if (hierarchy::IsFoldedBias(name)) return Folded::kYes;
      weight = weight || name.ends_with(".weight");
    }
    if (dynamo_ && !model_.Outputs(node).empty()) {
      const std::string_view name = model_.ValueName(model_.Outputs(node)[0]);
      if (name.starts_with("getitem")) return Folded::kYes;
      if (name.starts_with("conv") || name.starts_with("linear")) {
        return Folded::kNo;
      }
    }
    // A product in integers may have been a Gemm.
    const NodeId product = op == "Add" ? MatMulBefore(evidence_, node) : node;
    const bool may = op == "Cast" || op == "Mul" || product == kNo<NodeId> ||
                     (dynamo_ && model_.OpType(product) == "Gemm") ||
                     (dynamo_ && model_.OpType(product) == "MatMulInteger") ||
                     op.find("Conv") != std::string_view::npos;
    return may && !(renames_ && weight) ? Folded::kUnknown : Folded::kNo;
  }

  // By node, which of the modules between it is; nullopt if that is not clear.
  // `loose`: what only moves data may be a module, too.
  std::optional<std::vector<std::size_t>> FindParts(
      const std::vector<NodeId>& gap, bool loose) const {
    std::vector<std::size_t> parts;
    std::size_t count = 0;
    while (parts.size() < gap.size()) {
      const auto rest = std::span(gap).subspan(parts.size());
      std::size_t size = PartAt(rest);
      while (loose && size < rest.size() && PartAt(rest.subspan(size)) == 0 &&
             Moves(model_.OpType(rest[size]))) {
        ++size;
      }
      if (size == 0) return std::nullopt;
      parts.insert(parts.end(), size, count++);
    }
    return parts;
  }

  static bool Moves(std::string_view op) {
    return op == "Slice" || op == "Pad" || op == "Transpose" ||
           op == "Reshape" || op == "Squeeze" || op == "Unsqueeze";
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
    return IsModuleOfItsOwn(ops_, nodes[0]) ? 1 : 0;
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
  const Operators& ops_;
  const DataValues& data_;
  bool renames_ = false;  // TorchScript, with names such as onnx::Conv_12
  bool dynamo_ = false;   // or with names such as val_12
  std::map<ModuleId, NodeId> last_of_;             // the last node of an item
  std::unordered_map<ModuleId, Items> items_;      // by list
  std::map<ModuleId, std::vector<Trail>> trails_;  // by Sequential
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForSequentialParts(const Evidence& evidence,
                                             const Placed& placed) {
  return SequentialParts(evidence, placed).Run();
}

}  // namespace onnx_tag
