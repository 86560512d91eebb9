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
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/rungs/rung_base.h"

namespace onnx_tag {
namespace {

class SequentialParts : RungBase {
 public:
  SequentialParts(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        composites_(evidence.graph.composites()),
        dynamo_(hierarchy::IsDynamo(evidence.dialect)) {
    for (const Initializer& tensor : model_.initializers()) {
      const std::string_view name = model_.ValueName(tensor.value);
      renames_ = renames_ || name.starts_with("onnx::");
      dynamo_ = dynamo_ || name.starts_with("val_");
    }
  }

  std::vector<Claim> Run() {
    std::vector<NodeId> items;
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (!IsOpen(node) && IsData(node) && NumberOf(node)) {
        items.push_back(node);
      }
    }
    for (const NodeId node : items) PlaceBehind(node);
    for (const NodeId node : items) {
      PlaceTail(node);
      PlaceHead(node);
    }
    return std::move(claims_);
  }

 private:
  // More is not between two items.
  static constexpr std::size_t kMostNodes = 64;
  static constexpr std::size_t kMostEdges = 512;
  static constexpr std::size_t kMostOfPart = 8;

  // What follows an item: operators, and by node which of the modules it is.
  struct Trail {
    std::vector<NameId> ops;
    std::vector<std::size_t> parts;
  };

  // Whether the BatchNorm behind a product was folded into it.
  enum class Folded : std::uint8_t { kNo, kYes, kUnknown };

  std::optional<std::uint32_t> NumberAt(ModuleId module) const {
    return ItemNumber(tree_.Atom(module));
  }

  // Its number, if it is an item without children.
  std::optional<std::uint32_t> NumberOf(NodeId node) const {
    const ModuleId module = placed_[node].module;
    if (module == kRoot || !IsKnown(node) || !IsLeaf(module)) {
      return std::nullopt;
    }
    return NumberAt(module);
  }

  bool IsQuantizer(NodeId node) const {
    return ops_[node] == Op::kDynamicQuantizeLinear;
  }

  // Follows the data to the next placed node.
  void PlaceBehind(NodeId before) {
    std::vector<NodeId> gap;
    NodeId after = kNo<NodeId>;
    bool clear = !IsResult(before);
    const bool all = WalkOn(before, kMostEdges, [&](NodeId reader) {
      if (!IsData(reader)) return false;
      if (!IsOpen(reader)) {
        // The same module makes several nodes, such as a product and the sum
        // with its bias.
        if (after == kNo<NodeId>) after = reader;
        clear &= placed_[reader].module == placed_[after].module;
        return false;
      }
      gap.push_back(reader);
      clear &= !IsResult(reader) && gap.size() <= kMostNodes;
      return clear;
    });
    if (!all || !clear || after == kNo<NodeId>) return;
    std::sort(gap.begin(), gap.end());
    if (HasOtherInputs(before, gap)) return;
    // Who makes a tensor has its quantizer, too.
    std::erase_if(gap, [&](NodeId node) { return IsQuantizer(node); });
    if (!gap.empty()) Place(before, gap, after);
  }

  // The open nodes behind a node, in the order of the file.
  std::vector<NodeId> OpenBehind(NodeId node, std::size_t most) const {
    std::vector<NodeId> part;
    WalkOn(node, kMostEdges, [&](NodeId reader) {
      if (!IsData(reader) || !IsOpen(reader) || IsQuantizer(reader)) {
        return false;
      }
      part.push_back(reader);
      return part.size() < most;
    });
    std::sort(part.begin(), part.end());
    return part;
  }

  // The activation or norm that alone reads what the node makes.
  std::vector<NodeId> PartBehind(NodeId node) const {
    std::vector<NodeId> part = OpenBehind(node, kMostOfPart);
    if (part.empty() || ReadsConstantWeight(part[0])) return {};
    part.resize(PartAt(part));
    if (HasOtherInputs(node, part) || !IsAlone(node, part)) return {};
    return part;
  }

  // Whether nobody but the part reads what the node makes.
  bool IsAlone(NodeId node, const std::vector<NodeId>& part) const {
    if (IsResult(node)) return false;
    for (const NodeId reader : ReadersOf(node)) {
      if (IsData(reader) &&
          !std::binary_search(part.begin(), part.end(), reader)) {
        return false;
      }
    }
    return true;
  }

  void PlaceTail(NodeId last) {
    const ModuleId item = placed_[last].module;
    const ModuleId list = tree_.Parent(item);
    const Items& items = ItemsOf(list);
    if (items.last_number > NumberAt(item)) return;
    if (PlaceTrail(last, list)) return;
    std::vector<NodeId> part = PartBehind(last);
    if (part.empty()) return;
    const bool single = items.count == 1 && NumberAt(item) == 0U;
    if (!single && !LeadsToSibling(part, list)) return;
    std::size_t number = 1;
    const bool norm = IsNorm(part);
    do {
      ClaimTail(last, number++, part, norm);
      if (!IsNorm(part)) return;
      part = PartBehind(part.back());
    } while (!part.empty());
  }

  // The items of a list that have a parameter.
  struct Items {
    std::size_t count = 0;
    std::optional<std::uint32_t> last_number;
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
    }
    return items;
  }

  // Whether only another module of the Sequential's owner reads the activation.
  // A result that leaves the owner may well have an activation of the owner.
  bool LeadsToSibling(const std::vector<NodeId>& part, ModuleId list) const {
    const NodeId reader = OnlyConsumer(model_, part.back());
    return reader != kNo<NodeId> && !IsOpen(reader) &&
           placed_[reader].confidence > Confidence::kMedium &&
           !tree_.IsAncestor(list, placed_[reader].module) &&
           tree_.IsAncestor(tree_.Parent(list), placed_[reader].module) &&
           tree_.Parent(list) != kRoot && ops_.Is(reader, kWeighing) &&
           (part.size() > 1 || !IsGate(part[0]));
  }

  bool IsNorm(const std::vector<NodeId>& part) const {
    return AnyIn(part,
                 [&](NodeId node) { return ops_.Is(node, OpKind::kNorm); });
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
      Propose(node, next == kNo<ModuleId> ? list : next, Confidence::kLow,
              Source::kLocality,
              "the items of a Sequential run one after the other");
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
    NodeId before = FirstMaker(first);
    if (IsQuantizer(before)) {
      reader = before;
      before = FirstMaker(before);
    }
    if (!ops_.Is(before, OpKind::kActivation) || IsGate(before) ||
        OnlyConsumer(model_, before) != reader) {
      return;
    }
    Propose(before, head, Confidence::kLow, Source::kLocality,
            "a Sequential begins with it");
  }

  // Often it is no module, but a call in the code of the owner.
  bool IsGate(NodeId node) const {
    return ops_.Is(node, {Op::kSigmoid, Op::kTanh, Op::kSoftmax});
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
      Propose(gap[i], item == kNo<ModuleId> ? list : item,
              item != kNo<ModuleId> && count == missing && !loose
                  ? Confidence::kMedium
                  : Confidence::kLow,
              Source::kLocality,
              "this number is between the numbers of its neighbours");
    }
  }

  // Whether a BatchNorm was folded into the product. TorchScript renames the
  // weight then. dynamo names the bias after the weight if there was none
  // before, and the result after the BatchNorm's, of which it takes an item.
  Folded FoldedInto(NodeId node) const {
    bool weight = false;
    for (const Parameter& parameter : evidence_.Among(model_.Inputs(node))) {
      if (hierarchy::IsFoldedBias(parameter.name)) return Folded::kYes;
      weight = weight || parameter.name.ends_with(".weight");
    }
    if (dynamo_ && !model_.Outputs(node).empty()) {
      const std::string_view name = model_.ValueName(model_.Outputs(node)[0]);
      if (name.starts_with("getitem")) return Folded::kYes;
      if (name.starts_with("conv") || name.starts_with("linear")) {
        return Folded::kNo;
      }
    }
    // A product in integers may have been a Gemm.
    const NodeId product =
        ops_[node] == Op::kAdd ? MatMulBefore(evidence_, node) : node;
    const bool may =
        product == kNo<NodeId> || ops_.Is(node, {Op::kCast, Op::kMul}) ||
        ops_.Is(node, OpKind::kConvolution) ||
        (dynamo_ && ops_.Is(product, {Op::kGemm, Op::kMatMulInteger}));
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
             Moves(rest[size])) {
        ++size;
      }
      if (size == 0) return std::nullopt;
      parts.insert(parts.end(), size, count++);
    }
    return parts;
  }

  bool Moves(NodeId node) const {
    return ops_.Is(node, {OpKind::kReshape, OpKind::kTranspose}) ||
           ops_.Is(node, {Op::kSlice, Op::kPad});
  }

  // How many nodes the module that begins here has; 0: unknown.
  std::size_t PartAt(std::span<const NodeId> nodes) const {
    const auto* const whole = composites_.Of(nodes[0]);
    if (whole != nullptr &&
        (IsActivation(whole->kind) || onnx_tag::IsNorm(whole->kind)) &&
        whole->count <= nodes.size() &&
        std::all_of(
            nodes.begin(), nodes.begin() + whole->count,
            [&](NodeId node) { return composites_.Of(node) == whole; })) {
      return whole->count;
    }
    if (ReadsConstantWeight(nodes[0])) {
      const bool bias = nodes.size() > 1 && ops_[nodes[1]] == Op::kAdd &&
                        MatMulBefore(evidence_, nodes[1]) == nodes[0];
      return bias ? 2 : 1;
    }
    return IsModuleOfItsOwn(nodes[0]) ? 1 : 0;
  }

  // Whether the operation is one module. An Identity is a Dropout, without
  // optimization.
  bool IsModuleOfItsOwn(NodeId node) const {
    return ops_.Is(node, {OpKind::kActivation, OpKind::kSoftmax, OpKind::kPool,
                          OpKind::kDropout, OpKind::kIdentity}) ||
           ops_.Is(node, {Op::kFlatten, Op::kResize, Op::kDepthToSpace,
                          Op::kLayerNormalization, Op::kBatchNormalization});
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

  const Composites& composites_;
  bool renames_ = false;  // TorchScript, with names such as onnx::Conv_12
  bool dynamo_;           // or with names such as val_12
  std::unordered_map<ModuleId, Items> items_;      // by list
  std::map<ModuleId, std::vector<Trail>> trails_;  // by Sequential
};

}  // namespace

std::vector<Claim> ProposeForSequentialParts(const Evidence& evidence,
                                             const Placed& placed) {
  return SequentialParts(evidence, placed).Run();
}

}  // namespace onnx_tag
