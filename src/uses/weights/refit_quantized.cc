// Quantized tensors with their scales, and biases that belong to weights.
#include <algorithm>
#include <set>

#include "base/lists.h"
#include "core/graph/neighbours.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/attributes.h"
#include "file/model/element_types.h"
#include "uses/weights/planner.h"

namespace onnx_tag::weights {

namespace {

// The slots of quantized weights, each with those of its scale and zero point.
struct QuantizedSlots {
  std::size_t weight;
  std::size_t scale = Operator::kMostInputs;
  std::size_t zero = Operator::kMostInputs;
};

std::vector<QuantizedSlots> SlotsOf(const Operator& op) {
  std::vector<QuantizedSlots> found;
  std::size_t scales = 0;
  std::size_t zeros = 0;
  for (std::size_t slot = 0; slot < Operator::kMostInputs; ++slot) {
    switch (op.Input(slot)) {
      case Operand::kQuantized:
      case Operand::kQkvWeight:
      case Operand::kGatesIn:
      case Operand::kGatesOut:
        found.push_back({slot});
        break;
      case Operand::kScale:
        if (scales < found.size()) found[scales++].scale = slot;
        break;
      case Operand::kZeroPoint:
        if (zeros < found.size()) found[zeros++].zero = slot;
        break;
      default:
        break;
    }
  }
  return found;
}

// Longer chains between a tensor and its scale do not occur.
constexpr int kMostCarriers = 8;

}  // namespace

bool Planner::HandsOn(NodeId node) const {
  constexpr OpKinds kSteps = {OpKind::kQuantizer, OpKind::kDequantizer};
  const Operators& ops = reader_.ops();
  return ops.Is(node, OpKind::kLookup) ||
         (ops.Is(node, kCarriers) && !ops.Is(node, kSteps));
}

std::uint32_t Planner::TensorAt(NodeId node, std::size_t slot) const {
  const auto inputs = model_.Inputs(node);
  if (slot >= inputs.size()) return kNoTensor;
  const auto at = by_value_.find(inputs[slot]);
  return at == by_value_.end() ? kNoTensor : at->second;
}

std::uint32_t Planner::TensorNamed(const std::string& name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? kNoTensor : at->second;
}

std::uint32_t Planner::QuantizedAt(NodeId node, std::size_t slot) const {
  for (int step = 0; step < kMostCarriers; ++step) {
    const std::uint32_t direct = TensorAt(node, slot);
    const auto inputs = model_.Inputs(node);
    if (direct != kNoTensor || slot >= inputs.size()) return direct;
    node = ProducerOf(model_, inputs[slot]);
    if (node == kNo<NodeId> || !HandsOn(node)) return kNoTensor;
    slot = 0;
  }
  return kNoTensor;
}

void Planner::FindGroup(std::uint32_t i) {
  const Stored& stored = tensors_[i];
  if ((stored.type != kInt8 && stored.type != kUint8) || stored.bytes.empty()) {
    return;
  }
  const auto direct = model_.Consumers(stored.value);
  std::vector<NodeId> readers(direct.begin(), direct.end());
  for (std::size_t k = 0; k < readers.size() && k < Uses::kMost; ++k) {
    const NodeId node = readers[k];
    if (HandsOn(node)) {
      const auto next = model_.Consumers(model_.Outputs(node)[0]);
      readers.insert(readers.end(), next.begin(), next.end());
      continue;
    }
    const Op op = reader_.ops()[node];
    const auto slots = SlotsOf(Describe(op));
    const auto own = std::find_if(
        slots.begin(), slots.end(),
        [&](const auto& s) { return QuantizedAt(node, s.weight) == i; });
    if (own == slots.end()) continue;
    QuantizedGroup group;
    group.numbers = NumbersOf(i);
    group.scale = TensorAt(node, own->scale);
    group.zero = TensorAt(node, own->zero);
    std::string_view base = stored.name;
    if (group.scale == kNoTensor &&
        hierarchy::ConsumeSuffix(base, "_quantized")) {
      group.scale = TensorNamed(std::string(base) + "_scale");
    }
    if (group.scale == kNoTensor || !FillNumbers(stored, node, op, group)) {
      continue;
    }
    for (const std::uint32_t helper : {group.scale, group.zero}) {
      if (helper != kNoTensor) helpers_.emplace(helper, i);
    }
    groups_.emplace(i, std::move(group));
    return;
  }
}

bool Planner::FillNumbers(const Stored& stored, NodeId node, Op op,
                          QuantizedGroup& group) const {
  const Stored& scale = tensors_[group.scale];
  Numbers& numbers = group.numbers;
  numbers.quantized = true;
  if (scale.bytes.empty() || !IsFloat(scale.type)) return false;
  numbers.scales.resize(scale.count);
  LoadFloats(scale, 0, scale.count, numbers.scales.data());
  const Bytes zeros =
      group.zero == kNoTensor ? Bytes() : tensors_[group.zero].bytes;
  if (op == Op::kMatMulNBits) {
    const Bytes bytes = model_.NodeBytes(node);
    const auto n = static_cast<std::uint64_t>(IntAttribute(bytes, "N", 0));
    Groups& g = numbers.groups;
    g.row = static_cast<std::uint64_t>(IntAttribute(bytes, "K", 0));
    g.block = static_cast<std::uint64_t>(IntAttribute(bytes, "block_size", 0));
    g.bits = static_cast<std::uint32_t>(IntAttribute(bytes, "bits", 4));
    if (g.row == 0 || g.block == 0 || (g.bits != 4 && g.bits != 8) ||
        scale.count != n * g.blocks() ||
        stored.count != scale.count * ((g.block * g.bits + 7) / 8)) {
      return false;
    }
    numbers.dims = {n, g.row};
    numbers.count = n * g.row;
    const std::uint64_t line = (g.blocks() * g.bits + 7) / 8;
    if (!zeros.empty() && zeros.size() != n * line) return false;
    for (std::uint64_t i = 0; i < scale.count; ++i) {
      const std::uint64_t bit =
          i / g.blocks() * line * 8 + i % g.blocks() * g.bits;
      numbers.zeros.push_back(zeros.empty() ? 1 << (g.bits - 1)
                                            : PackedAt(zeros, bit, g.bits));
    }
    return true;
  }
  for (const char zero : zeros) {
    numbers.zeros.push_back(stored.type == kInt8
                                ? static_cast<signed char>(zero)
                                : static_cast<unsigned char>(zero));
  }
  if (scale.count == 1) return true;
  // One scale for each channel: of convolutions the first axis, of products
  // the last, unless the node says it.
  const auto rank = static_cast<std::int64_t>(stored.dims.size());
  // Gates have one scale for each direction.
  std::int64_t axis = reader_.ops().Is(node, OpKind::kConvolution) ||
                              reader_.ops().Is(node, OpKind::kRecurrent)
                          ? 0
                          : rank - 1;
  if (op == Op::kDequantizeLinear) {
    axis = IntAttribute(model_.NodeBytes(node), "axis", 1);
    if (IntAttribute(model_.NodeBytes(node), "block_size", 0) != 0)
      return false;
  }
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  auto at = static_cast<std::size_t>(axis);
  if (reader_.ops().Is(node, OpKind::kRecurrent) && rank == 3 &&
      scale.count != numbers.dims[0]) {
    at = 2;
    numbers.groups.outer = numbers.dims[1] * numbers.dims[2];
  }
  numbers.groups.channels = numbers.dims[at];
  for (std::size_t i = at + 1; i < numbers.dims.size(); ++i) {
    numbers.groups.inner *= numbers.dims[i];
  }
  return numbers.count > 0 &&
         numbers.groups.Scales(numbers.count) == scale.count &&
         (numbers.zeros.size() <= 1 || numbers.zeros.size() == scale.count);
}

Match Planner::MatchQuantized(std::uint32_t i,
                              const QuantizedGroup& group) const {
  const Numbers& numbers = group.numbers;
  return FindBase(i, numbers, [&](Recipe& recipe) {
    for (const Scheme& scheme : kSchemes) {
      const bool blockwise =
          scheme.style >= Style::kBlock && scheme.style <= Style::kBlockWide;
      if (scheme.type != tensors_[i].type ||
          blockwise != (numbers.groups.block > 0) ||
          (blockwise && scheme.symmetric != (group.zero == kNoTensor))) {
        continue;
      }
      recipe.scheme = &scheme;
      recipe.scale_type = tensors_[group.scale].type;
      const Made made(recipe, old_);
      if (Proves(made, Part::kScale, group.scale) &&
          (group.zero == kNoTensor || Proves(made, Part::kZero, group.zero)) &&
          Proves(made, Part::kNumbers, i)) {
        return true;
      }
    }
    recipe.scheme = nullptr;
    return false;
  });
}

Recipe Planner::FoldedBias(const Recipe& weight, std::uint64_t count) const {
  const std::uint32_t own =
      FindParameter(ModuleOf(weight.blocks[0].parameter) + "bias");
  Recipe recipe = weight;
  recipe.scheme = nullptr;
  recipe.groups = {};
  recipe.count = count;
  recipe.values = Values::kFoldedBias;
  recipe.blocks.clear();
  if (own != kNoParameter && old_[own].tensor->count == count) {
    recipe.blocks = Whole(own, count).blocks;
  }
  return recipe;
}

void Planner::FoldBiases(std::uint32_t i) {
  const std::shared_ptr<const Recipe> weight = matches_[i].recipe;
  if (weight == nullptr || !matches_[i].doubt.empty()) {
    for (const NodeId node : model_.Consumers(tensors_[i].value)) {
      if (!reader_.ops().Is(node, OpKind::kConvolution)) continue;
      if (TensorAt(node, 1) != i || TensorAt(node, 2) == kNoTensor) continue;
      refused_.emplace(
          TensorAt(node, 2),
          Message("nothing proves {}, the weight beside it", tensors_[i].name));
    }
    return;
  }
  if (weight->values != Values::kFolded ||
      weight->norm.variance == kNoParameter)
    return;
  const std::uint64_t size = old_[weight->norm.variance].tensor->count;
  std::set<std::uint32_t> biases;
  for (const NodeId node : model_.Consumers(tensors_[i].value)) {
    if (TensorAt(node, 1) != i || TensorAt(node, 2) == kNoTensor) continue;
    if (tensors_[TensorAt(node, 2)].count != size) continue;
    biases.insert(TensorAt(node, 2));
  }
  const bool read = !biases.empty();
  // A quantizer adds it in a node of its own: then its numbers must tell.
  for (std::uint32_t k = 0; biases.empty() && k < tensors_.size(); ++k) {
    if (tensors_[k].count == size && IsFloat(tensors_[k].type) &&
        !tensors_[k].bytes.empty() && !helpers_.contains(k) &&
        IsNear(FoldedBias(*weight, size), NumbersOf(k))) {
      biases.insert(k);
    }
  }
  for (const std::uint32_t bias : biases) {
    Recipe recipe = FoldedBias(*weight, size);
    Match found;
    recipe.fused = !Proves(recipe, bias);
    if (!recipe.fused || Proves(recipe, bias)) {
      found.recipe = std::make_shared<Recipe>(recipe);
    }
    if (found.recipe == nullptr ||
        model_.Consumers(tensors_[bias].value).size() > 1 ||
        (!read && biases.size() > 1)) {
      refused_.emplace(bias,
                       "a norm is folded into it in a way that is not known");
    }
    matches_[bias] = found;
  }
}

std::shared_ptr<const Recipe> Planner::MatchBias(std::uint32_t i) {
  const Stored& stored = tensors_[i];
  if (stored.type != kInt32 || stored.bytes.empty()) return nullptr;
  for (NodeId node : model_.Consumers(stored.value)) {
    QuantizedGroup group;
    if (reader_.ops()[node] == Op::kDequantizeLinear &&
        TensorAt(node, 0) == i) {
      group.scale = TensorAt(node, 1);
      group.zero = TensorAt(node, 2);
      const auto readers = model_.Consumers(model_.Outputs(node)[0]);
      if (readers.empty()) continue;
      node = readers[0];
    }
    const std::uint32_t input = FindWeight(node, group);
    if (group.weight == kNoTensor || matches_[group.weight].recipe == nullptr ||
        (group.input != kNoTensor && matches_[group.input].recipe == nullptr)) {
      continue;
    }
    const Recipe& of_weight = *matches_[group.weight].recipe;
    const float input_scale = tensors_[input].At(0);
    Numbers numbers = NumbersOf(i);
    numbers.quantized = true;
    for (const float scale : groups_.at(group.weight).numbers.scales) {
      numbers.scales.push_back(scale * input_scale);
    }
    numbers.groups.channels = numbers.scales.size();
    if (numbers.scales.size() != 1 && numbers.scales.size() != stored.count) {
      continue;
    }
    const auto proves = [&](Recipe& recipe) {
      recipe.scheme = &kSchemes.back();
      recipe.of_weight = matches_[group.weight].recipe;
      recipe.input_scale = input_scale;
      if (group.input != kNoTensor)
        recipe.of_input = matches_[group.input].recipe;
      recipe.groups = numbers.groups;
      const Made made(recipe, old_);
      return Proves(made, Part::kNumbers, i) &&
             (group.scale == kNoTensor ||
              Proves(made, Part::kScale, group.scale));
    };
    Match match;
    if (of_weight.values == Values::kFolded &&
        of_weight.norm.variance != kNoParameter) {
      Recipe recipe = FoldedBias(of_weight, stored.count);
      if (proves(recipe)) match.recipe = std::make_shared<Recipe>(recipe);
    } else {
      match = FindBase(i, numbers, proves);
    }
    if (match.recipe == nullptr) continue;
    if (group.scale != kNoTensor) helpers_.emplace(group.scale, i);
    biases_.emplace(i, std::move(group));
    matches_[i].others = match.others;
    return match.recipe;
  }
  return nullptr;
}

std::uint32_t Planner::FindWeight(NodeId node, QuantizedGroup& bias) const {
  const Operator& about = Describe(reader_.ops()[node]);
  const auto inputs = model_.Inputs(node);
  std::uint32_t weight = TensorAt(node, about.FindInput({Operand::kQuantized}));
  std::uint32_t scale = TensorAt(node, about.FindInput({Operand::kDataScale}));
  if (weight == kNoTensor && inputs.size() > 1) {
    const NodeId data = ProducerOf(model_, inputs[0]);
    const NodeId side = ProducerOf(model_, inputs[1]);
    if (reader_.ops()[data] != Op::kDequantizeLinear ||
        reader_.ops()[side] != Op::kDequantizeLinear) {
      return kNoTensor;
    }
    weight = TensorAt(side, 0);
    scale = TensorAt(data, 1);
  }
  if (weight == kNoTensor || scale == kNoTensor || !groups_.contains(weight) ||
      tensors_[scale].count != 1 || tensors_[scale].type != kFloat ||
      tensors_[scale].bytes.empty()) {
    return kNoTensor;
  }
  // An input that a quantized table gives has the table's scale, which changes.
  const auto table = helpers_.find(scale);
  if (table != helpers_.end()) {
    if (!groups_.contains(table->second)) return kNoTensor;
    bias.input = table->second;
  }
  bias.weight = weight;
  return scale;
}

bool Planner::ScalesTensor(const Use& use) const {
  const auto slots = SlotsOf(Describe(reader_.ops()[use.node]));
  return AnyIn(slots, [&](const auto& own) {
    return (own.scale == use.slot || own.zero == use.slot) &&
           QuantizedAt(use.node, own.weight) != kNoTensor;
  });
}

}  // namespace onnx_tag::weights
