// Why a transform that gives the numbers of a tensor is not believed.
#include <algorithm>
#include <array>
#include <set>

#include "base/lists.h"
#include "core/graph/order.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/weights/planner.h"

namespace onnx_tag::weights {
namespace {

// Calls `use(stack, number, name)` for each number of a layer in the name of a
// parameter: "a.", 12, "#.b.weight" for "a.12.b.weight", and "a.", 1,
// "weight_l#_reverse" for "a.weight_l1_reverse".
template <typename Function>
void ForEachLayer(std::string_view name, const Function& use) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t end = 0;
  for (std::size_t at; (at = name.find_first_of(kDigits, end)) != name.npos;) {
    end = std::min(name.find_first_not_of(kDigits, at), name.size());
    const std::size_t atom = name.rfind('.', at) + 1;
    const std::string_view rest = name.substr(end);
    const bool whole = at == atom && rest.starts_with('.');
    if (!whole && rest.find('.') != rest.npos) continue;
    const int number = hierarchy::SmallNumber(name.substr(at, end - at), -1);
    use(name.substr(0, atom), number,
        fmt::format("{}#{}", name.substr(atom, at - atom), rest));
  }
}

}  // namespace

std::string Planner::Doubt(std::uint32_t i, const Match& match) const {
  const std::int32_t type = tensors_[i].type;
  if (match.recipe->values != Values::kPlain ||
      (!IsFloat(type) && !groups_.contains(i) && type != kInt32)) {
    return "";
  }
  const Numbers numbers = NumbersOf(i);
  const std::vector<std::uint32_t> preferred = Preferred(i);
  auto fits = match.others.begin();
  for (std::size_t k = 0; k < match.recipe->blocks.size(); ++k) {
    const Block& block = match.recipe->blocks[k];
    const bool weak =
        block.rows * block.cols <= kWeak ||
        (type != kInt32 &&
         numbers.IsUniform(block.out, block.rows == 1 ? block.cols : 1) &&
         IsUniform(block));
    std::string other;
    for (; fits != match.others.end() && fits->first == k; ++fits) {
      const std::uint32_t one = DiffersNow(block, fits->second);
      if (one != kNoParameter) other = NameOf(one);
    }
    if (!weak && other.empty()) continue;
    const std::string& name = NameOf(block.parameter);
    const bool told = !changed_modules_.contains(ModuleOf(block.parameter)) &&
                      IsAmong(block.parameter, preferred);
    if (other.empty() ? told || NamedParameter(i) == block.parameter
                      : told && IsReadByOne(i) &&
                            uses_.Of(tensors_[i].value).size() == 1) {
      continue;
    }
    if (!other.empty()) {
      return Message(
          "{} and {} have these numbers in the old checkpoint, and others in "
          "the new one",
          name, other);
    }
    return Message("its numbers prove too little: those of {} fit", name);
  }
  return "";
}

std::uint32_t Planner::NamedParameter(std::uint32_t i) const {
  std::string_view name = tensors_[i].name;
  if (!hierarchy::ConsumeSuffix(name, "_quantized")) {
    // "a.weight_Q4", or in groups of 32 "a.weight_Q4G32"
    const std::size_t at =
        std::max(name.rfind("_Q4") + 1, name.rfind("_Q8") + 1);
    if (at > 0) name = name.substr(0, at - 1);
  }
  return FindHinted(std::string(name));
}

std::string Planner::Contradiction(std::uint32_t i, const Match& match) {
  // A square matrix may be turned in the old checkpoint. Products read it as
  // [in, out], and in blocks as torch has it; one that is as torch has it keeps
  // its name.
  const Block first =
      match.recipe->blocks.empty() ? Block() : match.recipe->blocks[0];
  const auto uses = uses_.Of(tensors_[i].value);
  const Numbers numbers = NumbersOf(i);
  const bool is_matrix =
      NamedParameter(i) == kNoParameter && AnyIn(uses, [&](const Use& use) {
        return !use.transposed &&
               (use.operand == Operand::kMatrix ||
                (use.operand == Operand::kQuantized &&
                 reader_.ops().Is(use.node, OpKind::kProduct)));
      });
  if ((HintOf(i).change == Change::kTransposed || is_matrix) &&
      match.recipe->blocks.size() == 1 && numbers.dims.size() == 2 &&
      numbers.dims[0] == numbers.dims[1] &&
      (first.src_col == 1) == (numbers.groups.block == 0)) {
    return Message("{} seems to be transposed in the old checkpoint",
                   NameOf(first.parameter));
  }
  std::set<std::uint32_t> expected = {NamedParameter(i)};
  std::vector<std::uint32_t> order;
  const Weight& hint = HintOf(i);
  if (expected.contains(kNoParameter) &&
      hint.confidence >= Confidence::kMedium) {
    expected.clear();
    for (const std::string& name : hint.parameters) {
      order.push_back(FindHinted(name));
      expected.insert(order.back());
    }
  }
  std::set<std::uint32_t> found;
  std::vector<std::uint32_t> found_order;
  for (const Block& block : match.recipe->blocks) {
    if (found.insert(block.parameter).second)
      found_order.push_back(block.parameter);
  }
  // Only whole parameters change places.
  for (const auto* each : {&expected, &found}) {
    std::uint64_t count = 0;
    for (const std::uint32_t one : *each) {
      count += one == kNoParameter ? 0 : old_[one].tensor->count;
    }
    if (each->contains(kNoParameter) || count != match.recipe->count) return "";
  }
  const bool merged =
      hint.change == Change::kMerged || hint.change == Change::kQuantized;
  if (found == expected && merged && found.size() > 1 && match.others.empty() &&
      found_order != order) {
    return Message("it has {} in another order", NameOf(first.parameter));
  }
  const bool in_order =
      match.recipe->picks.empty() &&
      std::is_sorted(
          match.recipe->blocks.begin(), match.recipe->blocks.end(),
          [](const Block& a, const Block& b) { return a.src < b.src; });
  const bool has_gates = AnyIn(uses, [](const Use& use) {
    return use.operand >= Operand::kGatesIn &&
           use.operand <= Operand::kGatesBias;
  });
  if (found == expected && found.size() == 1 && !in_order && !has_gates) {
    return Message("it has the rows of {} in another order",
                   NameOf(first.parameter));
  }
  for (const std::uint32_t one : match.recipe->Parameters()) found.insert(one);
  std::set<std::uint32_t> others;
  for (const auto& [index, block] : match.others) {
    others.insert(search_.First(block.parameter));
  }
  for (const std::uint32_t one : expected) {
    if (found.contains(one) || others.contains(search_.First(one))) continue;
    if (expected.size() == 1 && unusable_[one].empty() &&
        IsSameNow(*match.recipe, Whole(one, match.recipe->count))) {
      continue;
    }
    Mistrust(first.parameter, one);
    return Message("it has the numbers of {} in the place of {}",
                   NameOf(first.parameter), NameOf(one));
  }
  return "";
}

bool Planner::IsTold(std::uint32_t i, std::uint32_t parameter) const {
  const std::vector<std::uint32_t> told = Preferred(i);
  return NamedParameter(i) == parameter ||
         (HintOf(i).confidence >= Confidence::kMedium &&
          IsAmong(parameter, told));
}

void Planner::FindIrregular() {
  std::uint32_t count = 0;
  IdVector<NodeId, std::uint32_t> order(model_.node_count(), 0);
  for (const GraphId graph : model_.Graphs()) {
    for (const NodeId node : DepthFirstOrder(model_, graph)) {
      order[node] = count++;
    }
  }
  // By what stands before the number of a layer, and by that number.
  std::map<std::string_view, std::map<int, Layer>> stacks;
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
    const Match& match = matches_[i];
    // Of parameters that are alike, any name may have been taken.
    if (match.recipe == nullptr || !match.others.empty()) continue;
    const std::vector<std::uint32_t> held = match.recipe->Parameters();
    std::optional<Use> first;
    for (const Use& use : uses_.Of(tensors_[i].value)) {
      const std::uint32_t bias = BiasBeside(use);
      if (bias != kNoParameter && held.size() == 1 && bias != held[0] &&
          !IsTold(i, held[0]) &&
          old_[bias].tensor->count == tensors_[i].count) {
        Mistrust(held[0], bias);
      }
      if (!first || std::pair(order[use.node], use.slot) <
                        std::pair(order[first->node], first->slot)) {
        first = use;
      }
    }
    for (std::size_t k = 0; first && k < held.size(); ++k) {
      if (old_[held[k]].tensor->count <= kWeak) continue;
      const Place place{
          {order[first->node], first->slot, k}, i, held[k], *first};
      ForEachLayer(NameOf(held[k]),
                   [&](std::string_view stack, int number, std::string name) {
                     const auto [at, added] = stacks[stack][number].try_emplace(
                         std::move(name), place);
                     if (place.order < at->second.order) at->second = place;
                   });
    }
  }
  for (const auto& [stack, layers] : stacks) {
    const Layer* before = nullptr;
    for (const auto& [number, layer] : layers) {
      if (before != nullptr) CompareLayers(*before, layer);
      before = &layer;
    }
  }
}

void Planner::CompareLayers(const Layer& a, const Layer& b) {
  std::array<std::vector<Layer::const_iterator>, 2> both;
  for (auto at = a.begin(); at != a.end(); ++at) {
    const auto twin = b.find(at->first);
    if (twin == b.end()) continue;
    both[0].push_back(at);
    both[1].push_back(twin);
    const Use& use = at->second.use;
    const Use& other = twin->second.use;
    if (matches_[at->second.tensor].recipe->IsTurned() !=
            matches_[twin->second.tensor].recipe->IsTurned() &&
        reader_.ops()[use.node] == reader_.ops()[other.node] &&
        use.slot == other.slot && use.transposed == other.transposed) {
      turned_.insert({at->second.parameter, twin->second.parameter});
    }
  }
  for (auto& layer : both) {
    SortBy(layer, [](const auto& at) { return at->second.order; });
  }
  for (std::size_t k = 0; k < both[0].size(); ++k) {
    const auto& [name, place] = *both[0][k];
    const auto& [other, twin] = *both[1][k];
    if (name == other || (IsTold(place.tensor, place.parameter) &&
                          IsTold(twin.tensor, twin.parameter))) {
      continue;
    }
    Mistrust(place.parameter, twin.parameter);
  }
}

std::string Planner::Irregularity(std::uint32_t i, const Match& match) const {
  for (const std::uint32_t one : match.recipe->Parameters()) {
    const Tensor& tensor = *old_[one].tensor;
    if (turned_.contains(one)) {
      return Message("{} is turned, but not in an equal layer", tensor.name);
    }
    const auto pair = swapped_.find(tensor.count);
    if (pair == swapped_.end() || IsTold(i, one)) continue;
    return Message(
        "names of parameters of this size seem to be swapped in the old "
        "checkpoint: {} is read in the place of {}",
        NameOf(pair->second.first), NameOf(pair->second.second));
  }
  return "";
}

bool Planner::IsUniform(const Block& block) const {
  const Tensor& tensor = *old_[block.parameter].tensor;
  const float first = tensor.At(block.src);
  for (std::uint64_t k = 0;
       k < std::min<std::uint64_t>(block.rows * block.cols, 4096); ++k) {
    const std::uint64_t row = k / block.cols % block.rows;
    if (tensor.At(block.src + row * block.src_row +
                  k % block.cols * block.src_col) != first) {
      return false;
    }
  }
  return true;
}

bool Planner::IsReadByOne(std::uint32_t i) const {
  std::set<ModuleId> modules;
  for (const Use& use : uses_.Of(tensors_[i].value)) {
    modules.insert(tagging_.tags[use.node].module);
  }
  return modules.size() == 1 && !modules.contains(kNo<ModuleId>) &&
         HintOf(i).change != Change::kTied;
}

}  // namespace onnx_tag::weights
