// Tested by tests/uses/weights/refit_test.cc.
#include "uses/weights/refit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/glob.h"
#include "base/worker_pool.h"
#include "file/model/attributes.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "uses/weights/block_search.h"
#include "uses/weights/tables.h"
#include "uses/weights/use_reader.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag::weights {
namespace {

using Part = Made::Part;
using Values = Recipe::Values;
using Style = Scheme::Style;

constexpr std::uint32_t kNoTensor = 0xffffffff;
// Fewer numbers are equal by chance.
constexpr std::uint64_t kWeak = 4;
// Longer tensors of floats are parameters until something else is known.
constexpr std::uint64_t kSmall = 16;
constexpr float kEpsilons[] = {1e-5F, 1e-3F, 1e-6F,  1e-4F,
                               1e-2F, 1e-8F, 1e-12F, 0};

// A quantized tensor with its scale and its zero point.
struct QuantizedGroup {
  std::uint32_t scale = kNoTensor;
  std::uint32_t zero = kNoTensor;
  std::uint32_t weight = kNoTensor;  // of a bias
  Numbers numbers;
};

struct Norm {
  std::uint32_t weight, bias, mean, variance;
  std::uint64_t size;
};

// What is found for one tensor.
struct Match {
  std::shared_ptr<const Recipe> recipe;
  std::vector<std::pair<std::size_t, Block>> others;
  std::string doubt;  // why it is not believed; "" if it is
};

class Planner {
 public:
  Planner(const Model& model, const Tagging& tagging, const Store& store,
          const RefitRequest& request)
      : model_(model),
        tagging_(tagging),
        tensors_(store.tensors()),
        request_(request),
        reader_(model, tagging),
        uses_(model, reader_.ops()),
        hints_(MapWeights(model, tagging)),
        old_(SideOf(request.was == nullptr ? *request.now : *request.was)),
        search_(old_) {
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      by_value_.emplace(tensors_[i].value, i);
      by_name_.emplace(tensors_[i].name, i);
    }
    for (std::uint32_t i = 0; i < old_.size(); ++i) {
      parameters_.emplace(old_[i].tensor->name, i);
    }
    FindNow();
    FindNorms();
  }

  RefitPlan Run() {
    rows_.resize(tensors_.size());
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      rows_[i].stored = i;
      rows_[i].module = HintOf(i).module;
      FindGroup(i);
    }
    if (request_.was == nullptr) {
      for (std::uint32_t i = 0; i < tensors_.size(); ++i) TakeName(i);
    } else {
      MatchAll();
    }
    Settle();
    RefitPlan plan{std::move(rows_), now_, {}};
    std::set<std::uint32_t> used;
    for (const RefitRow& row : plan.rows) {
      if (row.recipe == nullptr) continue;
      for (const std::uint32_t one : row.recipe->Parameters()) used.insert(one);
    }
    for (std::uint32_t i = 0; i < old_.size(); ++i) {
      if (!used.contains(i) && Differs(i)) {
        plan.unused.push_back(old_[i].tensor->name);
      }
    }
    return plan;
  }

 private:
  static Side SideOf(const Checkpoint& checkpoint) {
    Side side;
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
      side.push_back({&tensor, nullptr});
    }
    return side;
  }

  // The new parameters, and why some cannot be used.
  void FindNow() {
    for (const Parameter& old : old_) {
      const CheckpointTensor& was = *old.tensor;
      const CheckpointTensor* const tensor = request_.now->Find(was.name);
      const auto added = request_.added.find(was.name);
      now_.push_back(
          {tensor, added == request_.added.end() ? nullptr : &added->second});
      std::string why;
      if (tensor == nullptr) {
        why = Message("the new checkpoint has no {}", was.name);
      } else if (tensor->dims != was.dims) {
        why = Message("{} is {} in the old checkpoint, {} in the new one",
                      was.name, DimsText(was.dims), DimsText(tensor->dims));
      } else if (IsFloat(tensor->type) != IsFloat(was.type)) {
        why = Message("{} has another type in the new checkpoint", was.name);
      }
      unusable_.push_back(std::move(why));
    }
  }

  bool Differs(std::uint32_t parameter) const {
    return !unusable_[parameter].empty() || now_[parameter].added != nullptr ||
           now_[parameter].tensor->type != old_[parameter].tensor->type ||
           now_[parameter].tensor->bytes != old_[parameter].tensor->bytes;
  }

  std::uint32_t FindParameter(const std::string& name) const {
    const auto at = parameters_.find(name);
    return at == parameters_.end() ? kNoParameter : at->second;
  }

  void FindNorms() {
    constexpr std::string_view kVariance = "running_var";
    for (std::uint32_t i = 0; i < old_.size(); ++i) {
      const std::string& name = old_[i].tensor->name;
      if (!name.ends_with(kVariance)) continue;
      const std::string module = name.substr(0, name.size() - kVariance.size());
      norms_.push_back(
          {FindParameter(module + "weight"), FindParameter(module + "bias"),
           FindParameter(module + "running_mean"), i, old_[i].tensor->count});
    }
  }

  const Weight& HintOf(std::uint32_t tensor) const {
    static const Weight kNothing;
    const std::uint32_t i = tensors_[tensor].initializer;
    return i < hints_.size() ? hints_[i] : kNothing;
  }

  std::vector<std::uint32_t> Preferred(std::uint32_t tensor) const {
    std::vector<std::uint32_t> found;
    const Weight& hint = HintOf(tensor);
    for (const auto* names : {&hint.parameters, &hint.may_hold}) {
      for (const std::string& name : *names) {
        const std::uint32_t one = FindParameter(name);
        if (one != kNoParameter) found.push_back(one);
      }
    }
    return found;
  }

  // ------------------------------------------------------------ quantized
  std::uint32_t TensorAt(NodeId node, std::size_t slot) const {
    const auto inputs = model_.Inputs(node);
    if (slot >= inputs.size()) return kNoTensor;
    const auto at = by_value_.find(inputs[slot]);
    return at == by_value_.end() ? kNoTensor : at->second;
  }
  std::uint32_t TensorNamed(const std::string& name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? kNoTensor : at->second;
  }

  // The tensor there, or the one whose rows are taken there.
  std::uint32_t QuantizedAt(NodeId node, std::size_t slot) const {
    const std::uint32_t direct = TensorAt(node, slot);
    const auto inputs = model_.Inputs(node);
    if (direct != kNoTensor || slot >= inputs.size() ||
        inputs[slot] == kNo<ValueId>) {
      return direct;
    }
    const NodeId before = model_.Producer(inputs[slot]);
    return reader_.ops().Is(before, OpKind::kLookup) ? TensorAt(before, 0)
                                                     : kNoTensor;
  }

  void FindGroup(std::uint32_t i) {
    const Stored& stored = tensors_[i];
    if ((stored.type != kInt8 && stored.type != kUint8) ||
        stored.bytes.empty()) {
      return;
    }
    std::vector<NodeId> readers;
    for (const NodeId node : model_.Consumers(stored.value)) {
      readers.push_back(node);
      if (!reader_.ops().Is(node, OpKind::kLookup)) continue;
      const auto next = model_.Consumers(model_.Outputs(node)[0]);
      readers.insert(readers.end(), next.begin(), next.end());
    }
    for (const NodeId node : readers) {
      const Op op = reader_.ops()[node];
      const Operator& about = Describe(op);
      const auto slot =
          about.FindInput({Operand::kQuantized, Operand::kQkvWeight});
      if (QuantizedAt(node, slot) != i) continue;
      QuantizedGroup group;
      group.scale = TensorAt(node, about.FindInput({Operand::kScale}));
      group.zero = TensorAt(node, about.FindInput({Operand::kZeroPoint}));
      constexpr std::string_view kEnd = "_quantized";
      if (group.scale == kNoTensor && stored.name.ends_with(kEnd)) {
        group.scale = TensorNamed(
            stored.name.substr(0, stored.name.size() - kEnd.size()) + "_scale");
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

  bool FillNumbers(const Stored& stored, NodeId node, Op op,
                   QuantizedGroup& group) const {
    const Stored& scale = tensors_[group.scale];
    Numbers& numbers = group.numbers;
    numbers.type = stored.type;
    numbers.bytes = stored.bytes;
    numbers.quantized = true;
    numbers.dims.assign(stored.dims.begin(), stored.dims.end());
    numbers.count = stored.count;
    if (scale.bytes.empty() || !IsFloat(scale.type)) return false;
    CheckpointTensor values{"", scale.type, {}, scale.count, scale.bytes};
    numbers.scales.resize(scale.count);
    LoadFloats(values, 0, scale.count, numbers.scales.data());
    const Bytes zeros =
        group.zero == kNoTensor ? Bytes() : tensors_[group.zero].bytes;
    if (op == Op::kMatMulNBits) {
      const Bytes bytes = model_.NodeBytes(node);
      const auto n = static_cast<std::uint64_t>(IntAttribute(bytes, "N", 0));
      Groups& g = numbers.groups;
      g.row = static_cast<std::uint64_t>(IntAttribute(bytes, "K", 0));
      g.block =
          static_cast<std::uint64_t>(IntAttribute(bytes, "block_size", 0));
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
        int zero = 1 << (g.bits - 1);
        if (!zeros.empty()) {
          const std::uint64_t bit = i % g.blocks() * g.bits;
          zero = static_cast<unsigned char>(
                     zeros[i / g.blocks() * line + bit / 8]) >>
                     bit % 8 &
                 ((1 << g.bits) - 1);
        }
        numbers.zeros.push_back(zero);
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
    std::int64_t axis =
        reader_.ops().Is(node, OpKind::kConvolution) ? 0 : rank - 1;
    if (op == Op::kDequantizeLinear) {
      axis = IntAttribute(model_.NodeBytes(node), "axis", 1);
      if (IntAttribute(model_.NodeBytes(node), "block_size", 0) != 0)
        return false;
    }
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return false;
    const auto at = static_cast<std::size_t>(axis);
    numbers.groups.channels = numbers.dims[at];
    for (std::size_t i = at + 1; i < numbers.dims.size(); ++i) {
      numbers.groups.inner *= numbers.dims[i];
    }
    return numbers.groups.channels == scale.count &&
           (numbers.zeros.size() <= 1 || numbers.zeros.size() == scale.count);
  }

  // ------------------------------------------------------------ matching
  void MatchAll() {
    matches_.resize(tensors_.size());
    std::vector<std::exception_ptr> errors(tensors_.size());
    Mailbox<std::size_t> done;
    const WorkerPool pool(std::max(1u, std::thread::hardware_concurrency()),
                          tensors_.size(), [&](std::size_t i) {
                            try {
                              matches_[i] =
                                  MatchOne(static_cast<std::uint32_t>(i));
                            } catch (...) {
                              errors[i] = std::current_exception();
                            }
                            done.Put(i);
                          });
    for (std::size_t i = 0; i < tensors_.size();) {
      if (done.Take(std::chrono::seconds(1))) ++i;
    }
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) FoldBiases(i);
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      if (matches_[i].recipe == nullptr) matches_[i].recipe = MatchBias(i);
    }
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      if (matches_[i].recipe == nullptr) continue;
      matches_[i].doubt = Doubt(i, matches_[i]);
      const auto group = groups_.find(i);
      if (group == groups_.end() && tensors_[i].type != kInt32) {
        Take(i, i, Part::kNumbers);
        continue;
      }
      const QuantizedGroup& parts =
          group == groups_.end() ? biases_.at(i) : group->second;
      Take(i, i, Part::kNumbers);
      Take(i, parts.scale, Part::kScale);
      Take(i, parts.zero, Part::kZero);
    }
  }

  // Gives tensor `to` a part of what the recipe of tensor `from` makes.
  void Take(std::uint32_t from, std::uint32_t to, Part part) {
    if (to == kNoTensor) return;
    const Match& match = matches_[from];
    RefitRow& row = rows_[to];
    const auto parts =
        biases_.contains(from) ? biases_.at(from) : QuantizedGroup();
    const auto at = groups_.find(from);
    const std::uint32_t scale =
        at == groups_.end() ? parts.scale : at->second.scale;
    const std::int32_t scale_type =
        scale == kNoTensor ? kFloat : tensors_[scale].type;
    std::string why = match.doubt;
    for (const std::uint32_t one : match.recipe->Parameters()) {
      if (!unusable_[one].empty()) why = unusable_[one];
    }
    if (row.recipe != nullptr && row.recipe != match.recipe &&
        Text(*row.recipe, row.part, row.scale_type, tensors_[to].type) !=
            Text(*match.recipe, part, scale_type, tensors_[to].type)) {
      why = "tensors that differ in the new checkpoint share it";
    }
    row.part = part;
    row.scale_type = scale_type;
    row.recipe = match.recipe;
    row.transform = match.recipe->Name(tensors_[to].type);
    if (part != Part::kNumbers) {
      row.transform = part == Part::kScale ? "scale" : "zero point";
    }
    row.parameters.clear();
    for (const std::uint32_t one : match.recipe->Parameters()) {
      row.parameters.push_back(old_[one].tensor->name);
    }
    if (!why.empty()) row.why = why;
    row.fate = row.why.empty() ? Fate::kWritten : Fate::kRefused;
  }

  std::string Text(const Recipe& recipe, Part part, std::int32_t scale_type,
                   std::int32_t type) const {
    std::string text;
    for (const std::uint32_t one : recipe.Parameters()) {
      if (!unusable_[one].empty()) return text;
    }
    Made(recipe, now_, scale_type).Emit(part, type, [&](Bytes bytes) {
      text += bytes;
      return true;
    });
    return text;
  }

  Match MatchOne(std::uint32_t i) const {
    const Stored& stored = tensors_[i];
    const auto group = groups_.find(i);
    if (group != groups_.end()) return MatchQuantized(i, group->second);
    if (stored.bytes.empty() || helpers_.contains(i)) return {};
    if (!IsFloat(stored.type)) return MatchWhole(i);
    const Numbers numbers = PlainNumbers(stored);
    const std::size_t clamps = stored.type == kFloat16 ? kClamps.size() : 1;
    Match match = FindBase(i, numbers, [&](Recipe& recipe) {
      for (recipe.clamp = 0; recipe.clamp < clamps; ++recipe.clamp) {
        if (Proves(recipe, i)) return true;
      }
      return false;
    });
    if (match.recipe != nullptr) return match;
    for (const std::uint32_t one : SameCount(i, numbers.count)) {
      if (auto recipe = MatchScaled(numbers, one, i)) {
        return {std::make_shared<Recipe>(*recipe), {}, ""};
      }
    }
    return {};
  }

  // The first way to put the numbers together that `proves` believes.
  Match FindBase(std::uint32_t i, const Numbers& numbers,
                 const std::function<bool(Recipe&)>& proves) const {
    Recipe recipe;
    recipe.count = numbers.count;
    recipe.groups = numbers.groups;
    for (const View view : {View::kFlat, View::kTransposed, View::kColumns}) {
      const auto blocks = search_.Find(numbers, view, Preferred(i));
      if (!blocks) continue;
      recipe.blocks = blocks->blocks;
      if (proves(recipe)) {
        return {std::make_shared<Recipe>(recipe), blocks->others, ""};
      }
    }
    if (norms_.empty()) return {};
    for (const std::uint32_t one : SameCount(i, numbers.count)) {
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const CheckpointTensor& weight = *old_[one].tensor;
        if (weight.dims.size() < 2) continue;
        recipe = Whole(one, numbers.count);
        recipe.groups = numbers.groups;
        recipe.values = Values::kFolded;
        recipe.channel.channels = static_cast<std::uint64_t>(weight.dims[axis]);
        for (std::size_t k = axis + 1; k < weight.dims.size(); ++k) {
          recipe.channel.inner *= static_cast<std::uint64_t>(weight.dims[k]);
        }
        for (const Norm& norm : norms_) {
          if (norm.size != recipe.channel.channels) continue;
          recipe.weight = norm.weight;
          recipe.variance = norm.variance;
          for (const float epsilon : kEpsilons) {
            recipe.epsilon = epsilon;
            if (!IsNear(recipe, numbers) || !proves(recipe)) continue;
            recipe.bias = norm.bias;
            recipe.mean = norm.mean;
            return {std::make_shared<Recipe>(recipe), {}, ""};
          }
        }
      }
    }
    return {};
  }

  static Numbers PlainNumbers(const Stored& stored) {
    Numbers numbers;
    numbers.type = stored.type;
    numbers.bytes = stored.bytes;
    numbers.count = stored.count;
    numbers.dims.assign(stored.dims.begin(), stored.dims.end());
    return numbers;
  }

  bool Proves(const Recipe& recipe, std::uint32_t i) const {
    return Made(recipe, old_, kFloat)
        .Equals(Part::kNumbers, tensors_[i].type, tensors_[i].bytes);
  }

  // Whole numbers that a buffer of this name has.
  Match MatchWhole(std::uint32_t i) const {
    const std::uint32_t one = FindParameter(tensors_[i].name);
    if (one == kNoParameter || old_[one].tensor->type != tensors_[i].type ||
        old_[one].tensor->bytes != tensors_[i].bytes || !Differs(one)) {
      return {};
    }
    return {std::make_shared<Recipe>(Whole(one, tensors_[i].count)), {}, ""};
  }

  // The parameters that a changed tensor may come from, likely ones first.
  std::vector<std::uint32_t> SameCount(std::uint32_t i,
                                       std::uint64_t count) const {
    std::vector<std::uint32_t> found = Preferred(i);
    for (std::uint32_t one = 0; one < old_.size(); ++one) found.push_back(one);
    std::erase_if(found, [&](std::uint32_t one) {
      return old_[one].tensor->count != count ||
             !IsFloat(old_[one].tensor->type);
    });
    return found;
  }

  static Recipe Whole(std::uint32_t parameter, std::uint64_t count) {
    Recipe recipe;
    recipe.count = count;
    recipe.blocks = {{parameter, 0, 1, count, count, 0, count, 1}};
    return recipe;
  }

  // Whether a few numbers are almost what the recipe gives.
  bool IsNear(const Recipe& recipe, const Numbers& numbers) const {
    const Made made(recipe, old_, kFloat);
    for (std::uint64_t k = 0; k < 16; ++k) {
      const std::uint64_t at = k * (numbers.count - 1) / 15;
      float number = 0;
      made.Floats(at, 1, &number);
      const float slack =
          std::max(numbers.Slack(at), std::fabs(number) * 4e-7F);
      if (!(std::fabs(numbers.At(at) - number) <= slack)) return false;
    }
    return true;
  }

  // A root or a power of a whole number, as attention divides by; others may be
  // a parameter themselves.
  bool IsConstantFactor(float factor) const {
    const double square = double{factor} * double{factor};
    for (const double power :
         {square, 1 / square, square * square, 1 / (square * square)}) {
      if (!(power >= 1 && power <= 1e6) || factor == 1) continue;
      if (std::fabs(power / std::round(power) - 1) > 1e-6) continue;
      Numbers number;
      number.type = kFloat;
      number.count = 1;
      number.bytes = Bytes(reinterpret_cast<const char*>(&factor),
                           sizeof factor);  // NOLINT
      return !LooksComputed(number);
    }
    return false;
  }

  std::optional<Recipe> MatchScaled(const Numbers& numbers, std::uint32_t one,
                                    std::uint32_t i) const {
    if (numbers.type != kFloat || numbers.count <= kWeak) return std::nullopt;
    std::uint64_t largest = 0;
    for (std::uint64_t k = 1; k < 16; ++k) {
      const std::uint64_t at = k * (numbers.count - 1) / 15;
      if (std::fabs(old_[one].tensor->At(at)) >
          std::fabs(old_[one].tensor->At(largest))) {
        largest = at;
      }
    }
    Recipe recipe = Whole(one, numbers.count);
    recipe.values = Values::kScaled;
    const float factor = numbers.At(largest) / old_[one].tensor->At(largest);
    recipe.factor = factor;
    if (!IsConstantFactor(factor) || !IsNear(recipe, numbers)) {
      return std::nullopt;
    }
    for (const float near : {factor, std::nextafter(factor, 0.0F),
                             std::nextafter(factor, 2 * factor)}) {
      recipe.factor = near;
      if (Proves(recipe, i)) return recipe;
    }
    return std::nullopt;
  }

  Match MatchQuantized(std::uint32_t i, const QuantizedGroup& group) const {
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
        const Made made(recipe, old_, tensors_[group.scale].type);
        if (Holds(made, Part::kScale, group.scale) &&
            (group.zero == kNoTensor || Holds(made, Part::kZero, group.zero)) &&
            Holds(made, Part::kNumbers, i)) {
          return true;
        }
      }
      recipe.scheme = nullptr;
      return false;
    });
  }

  bool Holds(const Made& made, Part part, std::uint32_t i) const {
    return made.Equals(part, tensors_[i].type, tensors_[i].bytes);
  }

  // The bias of a convolution that a norm is folded into.
  Recipe FoldedBias(const Recipe& weight, std::uint64_t count) const {
    const std::string& name = old_[weight.blocks[0].parameter].tensor->name;
    const std::uint32_t own =
        FindParameter(name.substr(0, name.rfind('.') + 1) + "bias");
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

  // It may look like another parameter while the norm is new: the weight
  // decides.
  void FoldBiases(std::uint32_t i) {
    const std::shared_ptr<const Recipe> weight = matches_[i].recipe;
    if (weight == nullptr || weight->values != Values::kFolded) return;
    const std::uint64_t size = old_[weight->variance].tensor->count;
    std::set<std::uint32_t> biases;
    bool read = false;
    for (const NodeId node : model_.Consumers(tensors_[i].value)) {
      if (TensorAt(node, 1) != i || TensorAt(node, 2) == kNoTensor) continue;
      if (tensors_[TensorAt(node, 2)].count != size) continue;
      biases.insert(TensorAt(node, 2));
      read = true;
    }
    // A quantizer adds it in a node of its own: then its numbers must tell.
    for (std::uint32_t k = 0; biases.empty() && k < tensors_.size(); ++k) {
      if (tensors_[k].count == size && IsFloat(tensors_[k].type) &&
          !tensors_[k].bytes.empty() && !helpers_.contains(k) &&
          IsNear(FoldedBias(*weight, size), PlainNumbers(tensors_[k]))) {
        biases.insert(k);
      }
    }
    for (const std::uint32_t bias : biases) {
      Recipe recipe = FoldedBias(*weight, size);
      Match found;
      for (const bool fused : {false, true}) {
        recipe.fused = fused;
        if (found.recipe == nullptr && Proves(recipe, bias)) {
          found.recipe = std::make_shared<Recipe>(recipe);
        }
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

  // An int32 bias: its scale is that of the input times that of the weight.
  std::shared_ptr<const Recipe> MatchBias(std::uint32_t i) {
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
      const auto [weight, input_scale] = WeightOf(node);
      if (weight == kNoTensor || matches_[weight].recipe == nullptr) continue;
      group.weight = weight;
      Numbers numbers = PlainNumbers(stored);
      numbers.quantized = true;
      numbers.groups.channels = stored.count;
      for (const float scale : groups_.at(weight).numbers.scales) {
        numbers.scales.push_back(scale * input_scale);
      }
      if (numbers.scales.size() != 1 && numbers.scales.size() != stored.count) {
        continue;
      }
      const auto proves = [&, input_scale = input_scale](Recipe& recipe) {
        recipe.scheme = &kSchemes.back();
        recipe.of_weight = matches_[weight].recipe;
        recipe.input_scale = input_scale;
        recipe.groups = numbers.groups;
        const Made made(recipe, old_, kFloat);
        return Holds(made, Part::kNumbers, i) &&
               (group.scale == kNoTensor ||
                Holds(made, Part::kScale, group.scale));
      };
      Match match;
      if (matches_[weight].recipe->values == Values::kFolded) {
        Recipe recipe = FoldedBias(*matches_[weight].recipe, stored.count);
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

  // The quantized weight of a product, and the scale of its input.
  std::pair<std::uint32_t, float> WeightOf(NodeId node) const {
    const Operator& about = Describe(reader_.ops()[node]);
    const auto inputs = model_.Inputs(node);
    std::uint32_t weight =
        TensorAt(node, about.FindInput({Operand::kQuantized}));
    std::uint32_t scale =
        TensorAt(node, about.FindInput({Operand::kDataScale}));
    if (weight == kNoTensor && inputs.size() > 1) {
      const NodeId data =
          inputs[0] == kNo<ValueId> ? kNo<NodeId> : model_.Producer(inputs[0]);
      const NodeId side =
          inputs[1] == kNo<ValueId> ? kNo<NodeId> : model_.Producer(inputs[1]);
      if (reader_.ops()[data] != Op::kDequantizeLinear ||
          reader_.ops()[side] != Op::kDequantizeLinear) {
        return {kNoTensor, 0};
      }
      weight = TensorAt(side, 0);
      scale = TensorAt(data, 1);
    }
    if (weight == kNoTensor || scale == kNoTensor ||
        !groups_.contains(weight) || tensors_[scale].count != 1 ||
        tensors_[scale].type != kFloat || tensors_[scale].bytes.empty()) {
      return {kNoTensor, 0};
    }
    return {weight, PlainNumbers(tensors_[scale]).At(0)};
  }

  // ------------------------------------------------------------ doubts
  // Numbers that prove nothing need the word of the node that reads them.
  std::string Doubt(std::uint32_t i, const Match& match) const {
    const auto group = groups_.find(i);
    const Numbers numbers = group == groups_.end() ? PlainNumbers(tensors_[i])
                                                   : group->second.numbers;
    if (match.recipe->values != Values::kPlain || !IsFloatOrQuantized(i))
      return "";
    const std::vector<std::uint32_t> preferred = Preferred(i);
    for (std::size_t k = 0; k < match.recipe->blocks.size(); ++k) {
      const Block& block = match.recipe->blocks[k];
      const bool weak =
          block.rows * block.cols <= kWeak ||
          (tensors_[i].type != kInt32 &&
           numbers.IsUniform(block.out, block.rows == 1 ? block.cols : 1) &&
           IsUniform(block));
      std::string other;
      for (const auto& [index, fits] : match.others) {
        if (index == k && !SameNow(block, fits)) {
          other = old_[fits.parameter].tensor->name;
        }
      }
      if (!weak && other.empty()) continue;
      const std::string& name = old_[block.parameter].tensor->name;
      const bool told = std::find(preferred.begin(), preferred.end(),
                                  block.parameter) != preferred.end();
      if (other.empty() ? told || tensors_[i].name == name
                        : told && IsReadByOne(i)) {
        continue;
      }
      if (!other.empty()) {
        return Message(
            "{} and {} have these numbers in the old checkpoint, and others in "
            "the new one",
            name, other);
      }
      return Message("its numbers are all equal, as those of {} are", name);
    }
    return "";
  }

  bool IsFloatOrQuantized(std::uint32_t i) const {
    return IsFloat(tensors_[i].type) || groups_.contains(i) ||
           tensors_[i].type == kInt32;
  }

  bool IsUniform(const Block& block) const {
    const CheckpointTensor& tensor = *old_[block.parameter].tensor;
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

  // Whether the nodes that read it are of one module, so that no optimizer
  // merged tensors that happened to be equal.
  bool IsReadByOne(std::uint32_t i) const {
    std::set<ModuleId> modules;
    for (const Use& use : uses_.Of(tensors_[i].value)) {
      modules.insert(tagging_.tags[use.node].module);
    }
    return modules.size() == 1 && !modules.contains(kNo<ModuleId>) &&
           HintOf(i).change != Change::kTied;
  }

  // Whether both are equal in the new checkpoint, too.
  bool SameNow(Block a, Block b) const {
    if (!unusable_[a.parameter].empty() || !unusable_[b.parameter].empty())
      return false;
    if (a.parameter == b.parameter && a.src == b.src) return true;
    Recipe first;
    Recipe second;
    a.out = b.out = 0;
    a.out_row = b.out_row = a.cols;
    first.count = second.count = a.rows * a.cols;
    first.blocks = {a};
    second.blocks = {b};
    const Made made(second, now_, kFloat);
    bool same = true;
    std::uint64_t at = 0;
    std::vector<float> numbers;
    Made(first, now_, kFloat).Emit(Part::kNumbers, kFloat, [&](Bytes bytes) {
      numbers.resize(bytes.size() / sizeof(float));
      made.Floats(at, numbers.size(), numbers.data());
      same = std::memcmp(numbers.data(), bytes.data(), bytes.size()) == 0;
      at += numbers.size();
      return same;
    });
    return same;
  }

  // ------------------------------------------------------------ the rest
  // Without an old checkpoint: exact names, where nothing can be folded in.
  void TakeName(std::uint32_t i) {
    const Stored& stored = tensors_[i];
    const std::uint32_t one = FindParameter(stored.name);
    if (one == kNoParameter || stored.bytes.empty() || !IsFloat(stored.type) ||
        old_[one].tensor->type != stored.type ||
        old_[one].tensor->dims != stored.dims) {
      return;
    }
    bool unused_norm = false;
    for (const Norm& norm : norms_) {
      unused_norm |= TensorNamed(old_[norm.variance].tensor->name) == kNoTensor;
    }
    bool foldable = false;
    for (const Use& use : uses_.Of(stored.value)) {
      foldable |= reader_.ops().Is(use.node, OpKind::kConvolution) ||
                  reader_.ops()[use.node] == Op::kGemm;
    }
    if (unused_norm && foldable) {
      rows_[i].fate = Fate::kRefused;
      rows_[i].why =
          "a norm of the checkpoint is not in the model: it may be folded into "
          "this";
      return;
    }
    matches_.resize(tensors_.size());
    matches_[i].recipe = std::make_shared<Recipe>(Whole(one, stored.count));
    if (!IsReadByOne(i))
      matches_[i].doubt =
          "several modules read it, and nothing proves that they share it";
    Take(i, i, Part::kNumbers);
  }

  // What has no recipe is kept if it holds no parameter, else refused.
  void Settle() {
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      RefitRow& row = rows_[i];
      const auto refused = refused_.find(i);
      if (refused != refused_.end()) {
        row.fate = Fate::kRefused;
        row.why = refused->second;
      }
      if (row.recipe != nullptr && row.fate == Fate::kWritten) continue;
      const bool had_doubt = row.fate == Fate::kRefused;
      if (row.recipe == nullptr || IsWeakConstant(i)) {
        const std::string kept = WhyKept(i);
        row.fate = kept.empty() || (had_doubt && row.recipe == nullptr)
                       ? Fate::kRefused
                       : Fate::kKept;
        if (row.fate == Fate::kKept) {
          row.recipe = nullptr;
          row.transform.clear();
          row.parameters.clear();
          row.why = kept;
        }
        if (row.fate == Fate::kRefused && row.why.empty())
          row.why = WhyRefused(i);
      }
      if (row.fate != Fate::kRefused) continue;
      for (const std::string& pattern : request_.keep) {
        if (!MatchesPattern(pattern, tensors_[i].name, std::string_view()))
          continue;
        row.fate = Fate::kKept;
        row.why = "--keep";
        row.recipe = nullptr;
      }
    }
    for (const auto& [bias, group] : biases_) {
      if (rows_[bias].fate != Fate::kWritten ||
          rows_[group.weight].fate == Fate::kWritten) {
        continue;
      }
      rows_[bias].fate = Fate::kRefused;
      rows_[bias].why =
          Message("{} is not written", tensors_[group.weight].name);
    }
    // A scale stays with what it scales.
    for (const auto& [helper, of] : helpers_) {
      if (helper == kNoTensor || rows_[of].fate == Fate::kWritten) continue;
      rows_[helper].fate = rows_[of].fate;
      rows_[helper].recipe = nullptr;
      rows_[helper].why =
          Message("{} is {}", tensors_[of].name,
                  kFateNames[static_cast<std::size_t>(rows_[of].fate)]);
    }
  }

  // A number that equals a parameter by chance.
  bool IsWeakConstant(std::uint32_t i) const {
    return tensors_[i].count <= kWeak && HintOf(i).parameters.empty() &&
           HintOf(i).may_hold.empty() && !refused_.contains(i) &&
           FindParameter(tensors_[i].name) == kNoParameter;
  }

  std::string WhyKept(std::uint32_t i) const {
    const Stored& stored = tensors_[i];
    const Weight& hint = HintOf(i);
    if (stored.count == 0) return "it is empty";
    if (helpers_.contains(i)) return "of a quantized tensor";
    const std::vector<Use> uses = uses_.Of(stored.value);
    const auto group = groups_.find(i);
    if (group != groups_.end() && hint.parameters.empty() &&
        group->second.numbers.count <= kSmall &&
        !LooksComputed(group->second.numbers)) {
      return "a constant";
    }
    if (!IsFloat(stored.type)) {
      const bool weight =
          hint.change == Change::kQuantized || groups_.contains(i) ||
          std::any_of(uses.begin(), uses.end(),
                      [&](const Use& use) { return ScalesTensor(use); });
      return weight ? "" : "whole numbers";
    }
    if (stored.bytes.empty()) return "";
    bool data_scale = false;
    bool parameter = !hint.parameters.empty() || !hint.may_hold.empty() ||
                     FindParameter(stored.name) != kNoParameter;
    bool only_state = true;
    for (const Use& use : uses) {
      data_scale |= use.operand == Operand::kDataScale ||
                    (use.operand == Operand::kScale && !ScalesTensor(use));
      parameter |= ScalesTensor(use);
      only_state &= IsState(use.node, use.slot);
      parameter |= IsParameter(use.operand) && use.operand != Operand::kScale &&
                   !(use.operand == Operand::kMatrix && stored.count == 1);
    }
    if (data_scale && !parameter && stored.count == 1)
      return "a scale of an activation";
    const Numbers numbers = PlainNumbers(stored);
    const std::string_view table = TableKind(numbers);
    if (!table.empty()) return std::string(table);
    if (only_state && numbers.IsUniform(0, stored.count)) {
      return "the first state";
    }
    if (parameter || stored.count > kSmall || LooksComputed(numbers)) return "";
    return "a constant";
  }

  // Whether it is a scale or zero point of a tensor of the model.
  bool ScalesTensor(const Use& use) const {
    return (use.operand == Operand::kScale ||
            use.operand == Operand::kZeroPoint) &&
           QuantizedAt(use.node, Describe(reader_.ops()[use.node])
                                     .FindInput({Operand::kQuantized,
                                                 Operand::kQkvWeight})) !=
               kNoTensor;
  }

  // Whether a recurrent layer starts with it, perhaps repeated.
  bool IsState(NodeId node, std::uint32_t slot) const {
    if (!reader_.ops().Is(node, OpKind::kExpand)) {
      return reader_.ops().Is(node, OpKind::kRecurrent) && slot > 3;
    }
    const std::vector<Use> uses = uses_.Of(model_.Outputs(node)[0]);
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return reader_.ops().Is(use.node, OpKind::kRecurrent) && use.slot > 3;
    });
  }

  // Whether it is almost a function of a parameter: exp(logit_scale).
  bool LooksComputed(const Numbers& numbers) const {
    using Function = double (*)(double);
    static constexpr Function kFunctions[] = {
        [](double x) { return x; },
        [](double x) { return std::exp(x); },
        [](double x) { return -std::exp(x); },
        [](double x) { return std::log1p(std::exp(x)); },
        [](double x) { return 1 / (1 + std::exp(-x)); },
        [](double x) { return std::tanh(x); },
        [](double x) { return 1 / x; },
        [](double x) { return x * x; },
        [](double x) { return std::sqrt(x); }};
    for (std::uint32_t one = 0; one < old_.size(); ++one) {
      const CheckpointTensor& tensor = *old_[one].tensor;
      if (tensor.count != numbers.count || !IsFloat(tensor.type) ||
          !Differs(one))
        continue;
      for (const Function function : kFunctions) {
        bool same = true;
        for (std::uint64_t k = 0; same && k < numbers.count; ++k) {
          const double x = tensor.At(k);
          const double made = function(x);
          same = x != 0 && x != 1 &&
                 std::fabs(numbers.At(k) - made) <=
                     1e-5 * std::fabs(made) + double{numbers.Slack(k)};
        }
        if (same) return true;
      }
    }
    return false;
  }

  std::string WhyRefused(std::uint32_t i) const {
    const Stored& stored = tensors_[i];
    if (stored.tensor.empty())
      return "it is sparse, or another tensor has its name";
    if (stored.bytes.empty()) return "its numbers cannot be read";
    if (request_.was == nullptr)
      return "no parameter has its name, shape and type";
    return "it follows from nothing in the old checkpoint";
  }

  const Model& model_;
  const Tagging& tagging_;
  const std::vector<Stored>& tensors_;
  const RefitRequest& request_;
  const UseReader reader_;
  const Uses uses_;
  const std::vector<Weight> hints_;
  const Side old_;
  Side now_;
  std::vector<std::string> unusable_;  // by parameter: why; "" if it is fine
  const BlockSearch search_;
  std::vector<Norm> norms_;
  std::unordered_map<ValueId, std::uint32_t> by_value_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::string_view, std::uint32_t> parameters_;
  std::map<std::uint32_t, QuantizedGroup> groups_;  // by quantized tensor
  std::map<std::uint32_t, QuantizedGroup> biases_;
  std::map<std::uint32_t, std::uint32_t> helpers_;  // what they belong to
  std::map<std::uint32_t, std::string> refused_;
  std::vector<Match> matches_;
  std::vector<RefitRow> rows_;
};

}  // namespace

RefitPlan PlanRefit(const Model& model, const Tagging& tagging,
                    const Store& store, const RefitRequest& request) {
  return Planner(model, tagging, store, request).Run();
}

}  // namespace onnx_tag::weights
