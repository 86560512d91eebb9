// Tensors that were merged because their numbers were equal are split again.
#include <utility>

#include "core/graph/neighbours.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/weights/planner.h"

namespace onnx_tag::weights {

// New tensors are held in memory until they are written.
constexpr std::uint64_t kMostSplit = std::uint64_t{1} << 20;

// The bias of the layer whose weight has the numbers of one parameter only.
std::uint32_t Planner::BiasBeside(const Use& use) const {
  NodeId node = use.node;
  if (use.operand != Operand::kBias) {
    const auto inputs = model_.Inputs(node);
    if (reader_.ops()[node] != Op::kAdd || inputs.size() != 2)
      return kNoParameter;
    node = ProducerOf(model_, inputs[1 - use.slot]);
    if (node == kNo<NodeId> || !reader_.ops().Is(node, OpKind::kProduct))
      return kNoParameter;
  }
  const std::uint32_t weight = TensorAt(node, 1);
  if (weight == kNoTensor || matches_[weight].recipe == nullptr ||
      matches_[weight].recipe->blocks.size() != 1) {
    return kNoParameter;
  }
  const std::uint32_t one = matches_[weight].recipe->blocks[0].parameter;
  return held_.contains(one) ? FindParameter(ModuleOf(one) + "bias")
                             : kNoParameter;
}

std::uint32_t Planner::ToldAt(std::uint32_t i, NodeId node, std::uint32_t slot,
                              const Fits& fits) const {
  std::uint32_t told = kNoParameter;
  for (const Use& use : uses_.At(node, slot)) {
    std::uint32_t here = BiasBeside(use);
    const auto weight =
        reader_.Read(model_.initializers()[tensors_[i].initializer], use);
    if (here == kNoParameter && weight &&
        weight->confidence >= Confidence::kMedium) {
      for (const std::uint32_t one : HeldBy(*weight)) {
        if (Holds(fits, one)) here = one;
      }
    }
    if (!Holds(fits, here) || (told != kNoParameter && told != here)) {
      return kNoParameter;
    }
    told = here;
  }
  return told;
}

void Planner::FindHeld() {
  for (const Match& match : matches_) {
    if (match.recipe == nullptr || !match.doubt.empty() ||
        !match.others.empty()) {
      continue;
    }
    for (const std::uint32_t one : match.recipe->Parameters()) {
      held_.insert(one);
      held_modules_.insert(ModuleOf(one));
    }
    if (match.recipe->values == Values::kPlain) continue;
    for (const Block& block : match.recipe->blocks) {
      changed_modules_.insert(ModuleOf(block.parameter));
    }
  }
  std::map<std::uint32_t, std::uint32_t> named;  // tensors, by parameter
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
    named.emplace(FindHinted(tensors_[i].name), i);
  }
  for (std::uint32_t one = 0; one < old_.size(); ++one) {
    if (held_.contains(one) || !held_modules_.contains(ModuleOf(one))) continue;
    const auto at = named.find(one);
    awaited_.emplace(search_.First(one),
                     at == named.end() ? kNoTensor : at->second,
                     first_now_[one]);
  }
}

std::string Planner::ModuleOf(std::uint32_t parameter) const {
  const std::string& name = NameOf(parameter);
  return name.substr(0, name.rfind('.') + 1);
}

bool Planner::Split(std::uint32_t i) {
  Match& match = matches_[i];
  const Stored& stored = tensors_[i];
  if (match.recipe->blocks.size() != 1 || !match.recipe->picks.empty() ||
      !IsFloat(stored.type) || match.recipe->values != Values::kPlain ||
      stored.initializer == kNoTensor) {
    return false;
  }
  Fits fits;
  const auto add = [&](const Block& block) {
    if (block.src == 0 &&
        block.rows * block.cols == old_[block.parameter].tensor->count) {
      fits.emplace(search_.First(block.parameter), block);
    }
  };
  add(match.recipe->blocks[0]);
  for (const auto& [index, block] : match.others) add(block);
  std::vector<RefitRow> parts;
  // By the first parameter with the new numbers.
  std::map<std::uint32_t, std::size_t> places;
  NodeId before = kNo<NodeId>;
  for (const NodeId node : model_.Consumers(stored.value)) {
    if (std::exchange(before, node) == node) continue;
    for (const std::uint32_t slot : uses_.SlotsOf(node, stored.value)) {
      const std::uint32_t told = ToldAt(i, node, slot, fits);
      // Zeros stay zeros whatever they were multiplied with.
      if (told == kNoParameter || changed_modules_.contains(ModuleOf(told)))
        return false;
      const auto [part, added] = places.emplace(first_now_[told], parts.size());
      if (added) {
        Recipe recipe = *match.recipe;
        recipe.blocks = {fits.at(search_.First(told))};
        recipe.blocks[0].parameter = told;
        parts.push_back({.stored = i,
                         .recipe = std::make_shared<Recipe>(recipe),
                         .parameters = {NameOf(told)},
                         .module = tagging_.tags[node].module});
      }
      parts[part->second].readers.push_back({model_.NodeBytes(node), slot});
    }
  }
  // Each parameter has its reader: a node that is of another module than it
  // seems leaves one without.
  for (const auto& [first, block] : fits) {
    for (const std::uint32_t tensor : {i, kNoTensor}) {
      for (auto one = awaited_.lower_bound({first, tensor, 0});
           one != awaited_.end() && std::get<0>(*one) == first &&
           std::get<1>(*one) == tensor;
           ++one) {
        if (!places.contains(std::get<2>(*one))) return false;
      }
    }
  }
  // A caller may give an input, and an output has its name.
  const Value& value = model_[stored.value];
  if (parts.empty() ||
      (parts.size() > 1 &&
       (value.is_input || value.is_output || BytesOf(stored) > kMostSplit))) {
    return false;
  }
  for (const RefitRow& part : parts) {
    const std::string why = WhyUnusable(*part.recipe);
    if (!why.empty()) match.doubt = why;
    if (!why.empty()) return false;
  }
  match.recipe = parts[0].recipe;
  splits_.insert(splits_.end(), std::next(parts.begin()), parts.end());
  return true;
}

void Planner::AddSplits() {
  std::set<std::string> names;
  for (RefitRow& row : splits_) {
    if (rows_[row.stored].fate != Fate::kWritten) continue;
    row.fate = Fate::kWritten;
    row.transform = rows_[row.stored].transform;
    row.why = Message("{} held it, too", tensors_[row.stored].name);
    row.name = row.parameters[0];
    for (int k = 2; model_.FindName(row.name) != kNo<NameId> ||
                    !names.insert(row.name).second;
         ++k) {
      row.name = row.parameters[0] + "_" + std::to_string(k);
    }
    rows_.push_back(std::move(row));
  }
}

}  // namespace onnx_tag::weights
