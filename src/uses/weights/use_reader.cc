#include "uses/weights/use_reader.h"

#include <algorithm>
#include <map>

#include "base/glob.h"
#include "base/text.h"
#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"
#include "generated/weight_names.h"

namespace onnx_tag::weights {
namespace {

// Longer chains of carriers do not occur; hostile files may have them.
constexpr int kMaxSteps = 16;

using Row = std::vector<std::string_view>;

// Names of parameters that only a class or a place tells: the rows of
// src/data/weight_names.txt, by their first words.
const std::vector<Row>& RowsAt(std::string_view place) {
  static const auto rows = [] {
    std::map<std::string_view, std::vector<Row>> by_place;
    for (const std::string_view line : Split(kWeightNames, '\n')) {
      Row words = Split(line, ' ');
      if (words.size() >= 2) by_place[words[0]].push_back(std::move(words));
    }
    return by_place;
  }();
  return rows.at(place);
}

// The name of the parameter at `place`; "" if no row fits.
std::string_view NameAt(std::string_view place, std::string_view class_name) {
  for (const Row& row : RowsAt(place)) {
    if (MatchesPattern(row[1], class_name, std::string_view())) {
      return row.back();
    }
  }
  return {};
}

// Query, key and value in one.
bool IsPacked(std::string_view atom) { return atom.starts_with("in_proj_"); }

}  // namespace

Uses::Uses(const Model& model, const Operators& ops)
    : model_(model), ops_(ops) {
  constexpr std::size_t kWide = 64;
  for (const NodeId node : model.Nodes()) {
    const std::span<const ValueId> inputs = model.Inputs(node);
    if (inputs.size() < kWide) continue;
    auto& places = wide_[node];
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      places.emplace_back(inputs[slot], slot);
    }
    std::sort(places.begin(), places.end());
  }
}

std::vector<std::uint32_t> Uses::SlotsOf(NodeId node, ValueId value) const {
  std::vector<std::uint32_t> slots;
  if (const auto wide = wide_.find(node); wide != wide_.end()) {
    for (auto at = std::lower_bound(wide->second.begin(), wide->second.end(),
                                    std::pair(value, std::uint32_t{0}));
         at != wide->second.end() && at->first == value; ++at) {
      slots.push_back(at->second);
    }
    return slots;
  }
  const std::span<const ValueId> inputs = model_.Inputs(node);
  for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
    if (inputs[slot] == value) slots.push_back(slot);
  }
  return slots;
}

std::vector<Use> Uses::Of(ValueId value) const {
  std::vector<Use> uses;
  Follow(value, {}, 0, uses);
  return uses;
}

std::vector<Use> Uses::At(NodeId node, std::uint32_t slot) const {
  std::vector<Use> uses;
  FollowAt(node, slot, {}, 0, uses);
  return uses;
}

void Uses::Follow(ValueId value, Use so_far, int depth,
                  std::vector<Use>& uses) const {
  for (const NodeId node : model_.Consumers(value)) {
    if (uses.size() >= kMost) return;
    for (const std::uint32_t slot : SlotsOf(node, value)) {
      FollowAt(node, slot, so_far, depth, uses);
    }
  }
}

void Uses::FollowAt(NodeId node, std::uint32_t slot, Use use, int depth,
                    std::vector<Use>& uses) const {
  const Operator& op = Describe(ops_[node]);
  use.node = node;
  use.slot = slot;
  use.operand = op.Input(slot);
  if (slot != 0 || !op.kinds.HasAnyOf(kCarriers) || depth >= kMaxSteps) {
    uses.push_back(use);
    return;
  }
  use.transposed ^= op.kinds.HasAnyOf(OpKind::kTranspose);
  use.dequantized |= op.kinds.HasAnyOf(OpKind::kDequantizer);
  use.sliced |= op.kinds.HasAnyOf(OpKind::kSlice);
  const std::size_t before = uses.size();
  for (const ValueId output : model_.Outputs(node)) {
    if (output != kNo<ValueId>) Follow(output, use, depth + 1, uses);
  }
  // Nothing behind it computes: it is the last.
  if (uses.size() == before) uses.push_back(use);
}

std::string Join(const std::string& module, std::string_view atom) {
  return module.empty() ? std::string(atom) : module + "." + std::string(atom);
}

bool IsPlainBuffer(std::string_view name) {
  return !NameAt("buffer", hierarchy::LastPart(name, '.')).empty();
}

bool TakesRows(std::string_view value) {
  return !NameAt("takes", hierarchy::WithoutCounter(value)).empty();
}

bool MovesNumbers(std::string_view value) {
  return !NameAt("moves", hierarchy::WithoutCounter(value)).empty();
}

bool IsScaled(std::string_view name) {
  return name.ends_with("_weight_fused") || name.ends_with("_bias_fused");
}

UseReader::UseReader(const Model& model, const Tagging& tagging)
    : model_(model), tagging_(tagging), ops_(model) {
  // Recurrent nodes of one module and one kind are its layers, in file order.
  std::map<std::pair<ModuleId, Op>, std::uint32_t> layers;
  for (const NodeId node : model.Nodes()) {
    const Operator& op = Describe(ops_[node]);
    const Tag& tag = tagging.tags[node];
    if (!op.kinds.HasAnyOf(OpKind::kRecurrent) || !tag.tagged()) continue;
    recurrent_layer_[node] = layers[{tag.module, op.like}]++;
  }
}

bool UseReader::HoldsOthers(ModuleId id) const {
  return NameAt("owns", ClassOf(id)).empty() &&
         !NameAt("holds", ClassOf(id)).empty();
}

bool UseReader::IsLike(const Use& use, Op op) const {
  const Operator& own = Describe(ops_[use.node]);
  return own.like == op && own.Input(1) == Operand::kWeight;
}

bool UseReader::Transposes(const Use& gemm) const {
  return IntAttribute(model_.NodeBytes(gemm.node), "transB", 0) != 0;
}

bool UseReader::IsQuantized(const Initializer& tensor,
                            const std::vector<Use>& uses) const {
  if (IsFloat(tensor.data_type)) return false;
  for (const Use& use : uses) {
    if (use.dequantized || use.operand == Operand::kQuantized ||
        use.operand == Operand::kQkvWeight) {
      return true;
    }
  }
  return hierarchy::UndoTensorName(NameOf(tensor)).quantizer;
}
Weight UseReader::FoldedBias(const Initializer& tensor, const Use& use,
                             const std::string& conv, Weight weight) const {
  weight.change = QuantizedOr(Change::kFolded, tensor, use);
  weight.may_hold = {Join(conv, "bias")};
  weight.confidence = std::min(weight.confidence, Confidence::kHigh);
  weight.why =
      "it comes from a normalization that was folded into the convolution";
  for (const Origin& origin : tagging_.OriginsOf(use.node)) {
    if (ClassOf(origin.module).find("Norm") == std::string_view::npos) {
      continue;
    }
    const std::string norm = tagging_.modules.Path(origin.module);
    for (const std::string_view atom :
         {"weight", "bias", "running_mean", "running_var"}) {
      weight.parameters.push_back(Join(norm, atom));
    }
    break;
  }
  return weight;
}

bool UseReader::HoldsThree(const Initializer& tensor) const {
  const std::span<const std::int64_t> dims = model_.Dims(tensor);
  return dims.size() == 2 && (dims[0] == 3 * dims[1] || dims[1] == 3 * dims[0]);
}

// torch.nn.MultiheadAttention has query, key and value in one parameter. Its
// class may be unknown, but it has an out_proj.
std::string_view UseReader::MatrixAtom(const Initializer& tensor,
                                       ModuleId module) const {
  const bool packed =
      HoldsThree(tensor) &&
      tagging_.modules.FindChild(module, "out_proj") != kNo<ModuleId>;
  return NameAt("matrix", packed ? "MultiheadAttention" : ClassOf(module));
}

template <typename Give>
std::optional<Weight> UseReader::ReadWeight(const Initializer& tensor,
                                            const Use& use,
                                            const Give& give) const {
  if (IsLike(use, Op::kGemm)) {
    return give(
        MatrixAtom(tensor, TagOf(use).module),
        Transposes(use) != use.transposed ? Change::kSame : Change::kTransposed,
        "Gemm of this module reads it");
  }
  if (IsLike(use, Op::kConv)) {
    const std::span<const ValueId> inputs = model_.Inputs(use.node);
    const Initializer* const bias =
        inputs.size() > 2 ? model_.InitializerOf(inputs[2]) : nullptr;
    if (bias != nullptr && hierarchy::HasParameterSuffix(NameOf(*bias))) {
      std::optional<Weight> computed =
          give("weight", Change::kFolded,
               "its name is gone, but the bias has its own: it was computed");
      computed->confidence =
          std::min(computed->confidence, Confidence::kMedium);
      return computed;
    }
    return give("weight", Change::kFolded,
                "its name is gone, as if a normalization was folded into a "
                "convolution");
  }
  if (ops_[use.node] == Op::kGather && !use.dequantized &&
      (tensor.rank != 2 || !IsFloat(tensor.data_type))) {
    return std::nullopt;
  }
  return give("weight", Change::kSame,
              "the node of this module reads it as its weight");
}

Weight UseReader::ReadGates(const Initializer& tensor, const Use& use,
                            Weight weight) const {
  const std::string prefix =
      use.operand == Operand::kGatesBias ? "bias" : "weight";
  const auto at = recurrent_layer_.find(use.node);
  const std::uint32_t layer = at == recurrent_layer_.end() ? 0 : at->second;
  const std::string path = tagging_.modules.Path(weight.module);
  const std::span<const std::int64_t> dims = model_.Dims(tensor);
  const bool both = !dims.empty() && dims[0] == 2;
  for (const std::string_view direction : {"", "_reverse"}) {
    if (!both && !direction.empty()) break;
    const auto add = [&](std::string_view atom) {
      weight.parameters.push_back(
          fmt::format("{}_l{}{}", Join(path, atom), layer, direction));
    };
    if (use.operand != Operand::kGatesOut) add(prefix + "_ih");
    if (use.operand != Operand::kGatesIn) add(prefix + "_hh");
  }
  weight.change = QuantizedOr(Change::kMerged, tensor, use);
  weight.why = "the gates of a recurrent layer, in ONNX's order";
  return weight;
}

// The nearest module with one of these names, in the node's module or beside
// a module around it; kNo if there is none.
ModuleId UseReader::FindProjection(ModuleId module,
                                   std::string_view which) const {
  const ModuleTree& tree = tagging_.modules;
  for (ModuleId at = module; at != kNo<ModuleId>; at = tree.Parent(at)) {
    for (const std::string_view name : std::span(RowsAt(which)[0]).subspan(1)) {
      const ModuleId child = tree.FindChild(at, name);
      if (child != kNo<ModuleId>) return child;
    }
  }
  return kNo<ModuleId>;
}

Weight UseReader::ReadQkv(std::string_view atom, Weight weight) const {
  const ModuleTree& tree = tagging_.modules;
  for (const std::string_view which : {"query", "key", "value"}) {
    const ModuleId child = FindProjection(weight.module, which);
    if (child != kNo<ModuleId>) {
      weight.parameters.push_back(Join(tree.Path(child), atom));
    }
  }
  if (weight.parameters.size() != 3) {
    weight.parameters = {Join(tree.Path(weight.module), atom)};
    weight.confidence = Confidence::kLow;
  }
  weight.change = Change::kMerged;
  weight.why = "a fused attention reads query, key and value in one";
  return weight;
}

// A GroupNorm is exported as an InstanceNormalization with ones and zeros;
// its parameters are multiplied and added afterwards.
bool UseReader::IsPlainNorm(const Use& use) const {
  return ops_[use.node] == Op::kInstanceNormalization &&
         !ClassOf(TagOf(use).module).starts_with("InstanceNorm");
}

// What is added or multiplied: a bias, or a normalization's weight; or put
// before a sequence.
template <typename Give>
std::optional<Weight> UseReader::ReadElementwise(const Initializer& tensor,
                                                 const Use& use,
                                                 const Give& give) const {
  const Op op = ops_[use.node];
  const Tag& tag = TagOf(use);
  const std::span<const std::int64_t> dims = model_.Dims(tensor);
  if (op == Op::kConcat && use.slot == 0 && IsFloat(tensor.data_type) &&
      dims.size() == 3 && dims[0] == 1 && dims[1] == 1) {
    return give(NameAt("first", ClassOf(tag.module)), Change::kSame,
                "this module puts it before the sequence");
  }
  // One number for each channel, maybe shaped to be broadcast: [8, 1, 1].
  // Masks and tables are [1, 1, 1, n].
  const auto ones = std::count(dims.begin(), dims.end(), 1);
  if (static_cast<std::size_t>(ones) + 1 != dims.size() ||
      (dims.size() > 2 && dims.back() != 1)) {
    return std::nullopt;
  }
  if (op == Op::kAdd || op == Op::kSum) {
    // TorchScript names what it folds after the convolution that read it.
    if (NameOf(tensor).starts_with("onnx::Conv_")) {
      return FoldedBias(tensor, use, tagging_.modules.Path(tag.module),
                        {.module = tag.module, .confidence = tag.confidence});
    }
    // Only a piece of the packed bias loses its name.
    const std::string_view atom = NameAt("added", ClassOf(tag.module));
    return give(atom, IsPacked(atom) ? Change::kSplit : Change::kSame,
                "this module adds it");
  }
  if (op == Op::kMul) {
    return give("weight", Change::kSame, "this module multiplies with it");
  }
  return std::nullopt;
}

std::optional<Weight> UseReader::Read(const Initializer& tensor,
                                      const Use& use) const {
  const Tag& tag = TagOf(use);
  if (!tag.tagged()) return std::nullopt;
  Weight weight;
  weight.module = tag.module;
  // Quantizers replace products, not sums.
  weight.confidence = ops_[use.node] != Op::kAdd && HoldsOthers(tag.module)
                          ? Confidence::kLow
                          : std::min(tag.confidence, Confidence::kHigh);
  const auto give = [&](std::string_view atom, Change change,
                        std::string_view why) {
    weight.parameters = {Join(tagging_.modules.Path(tag.module), atom)};
    weight.change = QuantizedOr(use.sliced                 ? Change::kSplit
                                : IsScaled(NameOf(tensor)) ? Change::kFolded
                                                           : change,
                                tensor, use);
    weight.why = why;
    return weight;
  };
  switch (use.operand) {
    case Operand::kMatrix:
      if (tensor.rank != 2) return std::nullopt;
      if (IsPacked(MatrixAtom(tensor, tag.module)) && !HoldsThree(tensor)) {
        return give(MatrixAtom(tensor, tag.module), Change::kSplit,
                    "MatMul of this module reads a part of the packed weight");
      }
      return give(MatrixAtom(tensor, tag.module),
                  use.transposed ? Change::kSame : Change::kTransposed,
                  "MatMul of this module reads it");
    case Operand::kWeight:
      if (IsPlainNorm(use)) return std::nullopt;
      return ReadWeight(tensor, use, give);
    case Operand::kBias:
      if (IsPlainNorm(use)) return std::nullopt;
      // A bias of the convolution itself keeps its name.
      if (IsLike(use, Op::kConv)) {
        return FoldedBias(tensor, use, tagging_.modules.Path(tag.module),
                          std::move(weight));
      }
      return give("bias", Change::kSame,
                  "the node of this module reads it as its bias");
    case Operand::kMean:
      return give("running_mean", Change::kSame,
                  "BatchNormalization reads it as its mean");
    case Operand::kVariance:
      return give("running_var", Change::kSame,
                  "BatchNormalization reads it as its variance");
    case Operand::kQuantized:
      return give(MatrixAtom(tensor, tag.module), Change::kQuantized,
                  "the node of this module reads it as its weight");
    case Operand::kGatesIn:
    case Operand::kGatesOut:
    case Operand::kGatesBias:
      return ReadGates(tensor, use, std::move(weight));
    case Operand::kQkvWeight:
      return ReadQkv("weight", std::move(weight));
    case Operand::kQkvBias:
      return ReadQkv("bias", std::move(weight));
    default:
      return ReadElementwise(tensor, use, give);
  }
}

}  // namespace onnx_tag::weights
