// How PlanRefit() works: each tensor is matched with the old checkpoint, then
// doubts are settled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "uses/weights/block_search.h"
#include "uses/weights/refit.h"
#include "uses/weights/use_reader.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag::weights {

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
  std::uint32_t input = kNoTensor;   // of a bias: the table whose rows it reads
  Numbers numbers;
};

constexpr std::uint64_t kMostPicked = std::uint64_t{1} << 20;

// What is found for one tensor.
struct Match {
  std::shared_ptr<const Recipe> recipe;
  std::vector<std::pair<std::size_t, Block>> others;
  std::string doubt;  // why it is not believed; "" if it is
};

// Where a parameter is first read.
struct Place {
  // The node, its input, and the part of the tensor.
  std::tuple<std::uint32_t, std::uint32_t, std::size_t> order;
  std::uint32_t tensor;
  std::uint32_t parameter;
  Use use;
};
// The parameters of a layer, by their names without its number.
using Layer = std::map<std::string, Place>;

// What a map of lists has for `key`.
template <typename T>
std::span<const T> At(const std::map<std::uint64_t, std::vector<T>>& lists,
                      std::uint64_t key) {
  const auto at = lists.find(key);
  return at == lists.end() ? std::span<const T>() : at->second;
}

class Planner {
 public:
  Planner(const Model& model, const Tagging& tagging, const Store& store,
          const RefitRequest& request);

  RefitPlan Run();

 private:
  using Part = Made::Part;
  using Values = Recipe::Values;
  using Style = Scheme::Style;
  // Whole parameters that give the same numbers, by the first that is alike.
  using Fits = std::map<std::uint32_t, Block>;

  // The new parameters, and why some cannot be used.
  void FindNow();
  bool FindsDifference(std::uint32_t parameter) const;
  void FindNorms();
  void FindPrefix();

  // kNoParameter or kNoTensor: there is none.
  std::uint32_t FindParameter(const std::string& name) const;
  // The parameter that the graph calls this.
  std::uint32_t FindHinted(const std::string& name) const;
  // The parameter whose name the tensor has.
  std::uint32_t NamedParameter(std::uint32_t i) const;
  std::uint32_t TensorAt(NodeId node, std::size_t slot) const;
  std::uint32_t TensorNamed(const std::string& name) const;
  // The tensor there, or the one whose numbers arrive there.
  std::uint32_t QuantizedAt(NodeId node, std::size_t slot) const;
  // Whether it gives numbers of its first input, unchanged.
  bool HandsOn(NodeId node) const;
  const Weight& HintOf(std::uint32_t tensor) const;
  // The parameters that it holds or may hold.
  std::vector<std::uint32_t> HeldBy(const Weight& weight) const;
  std::vector<std::uint32_t> Preferred(std::uint32_t tensor) const {
    return HeldBy(HintOf(tensor));
  }
  const std::string& NameOf(std::uint32_t parameter) const {
    return old_[parameter].tensor->name;
  }
  std::string ModuleOf(std::uint32_t parameter) const;
  Numbers NumbersOf(std::uint32_t i) const;

  void FindGroup(std::uint32_t i);
  bool FillNumbers(const Stored& stored, NodeId node, Op op,
                   QuantizedGroup& group) const;

  void MatchAll();
  Match MatchOne(std::uint32_t i) const;
  Match MatchQuantized(std::uint32_t i, const QuantizedGroup& group) const;
  // The first way to put the numbers together that `proves` believes.
  Match FindBase(std::uint32_t i, const Numbers& numbers,
                 const std::function<bool(Recipe&)>& proves) const;
  // Rows of a table that a tensor [..., heads, places] looks up, as relative
  // positions do.
  Match PickRows(std::uint32_t one, const Numbers& numbers,
                 std::uint64_t places) const;
  std::optional<Recipe> MatchScaled(const Numbers& numbers, std::uint32_t one,
                                    std::uint32_t i) const;
  bool Proves(const Made& made, Part part, std::uint32_t i) const;
  bool Proves(const Recipe& recipe, std::uint32_t i) const {
    return Proves(Made(recipe, old_), Part::kNumbers, i);
  }
  // The parameters that a changed tensor may come from, likely ones first.
  std::vector<std::uint32_t> SameCount(std::uint32_t i,
                                       std::uint64_t count) const;
  static Recipe Whole(std::uint32_t parameter, std::uint64_t count);
  // The roots that give the numbers; false: there are none.
  bool FindRoots(Recipe& recipe, const Numbers& numbers) const;
  // Whether a few numbers are almost what the recipe gives.
  bool IsNear(const Recipe& recipe, const Numbers& numbers) const;
  // Whether it is almost a function of a parameter: exp(logit_scale).
  bool LooksComputed(const Numbers& numbers) const;

  // The bias of a convolution that a norm is folded into.
  Recipe FoldedBias(const Recipe& weight, std::uint64_t count) const;
  // It may look like another parameter while the norm is new: the weight
  // decides.
  void FoldBiases(std::uint32_t i);
  // An int32 bias: its scale is that of the input times that of the weight.
  std::shared_ptr<const Recipe> MatchBias(std::uint32_t i);
  // Finds the quantized weight of the product that adds a bias; gives the scale
  // of its input.
  std::uint32_t FindWeight(NodeId node, QuantizedGroup& bias) const;

  // Numbers that prove nothing need the word of the node that reads them.
  std::string Doubt(std::uint32_t i, const Match& match) const;
  // Why its name or its readers say another parameter: names of the old
  // checkpoint may be swapped.
  std::string Contradiction(std::uint32_t i, const Match& match);
  // Whether the name of the tensor, or the node that reads it, says that it is
  // this parameter.
  bool IsTold(std::uint32_t i, std::uint32_t parameter) const;
  // Equal layers read their parameters in one order, and turn the same ones.
  void FindIrregular();
  void CompareLayers(const Layer& a, const Layer& b);
  // Names of their sizes may be swapped: `one` is in the place of `other`.
  void Mistrust(std::uint32_t one, std::uint32_t other) {
    swapped_.try_emplace(old_[one].tensor->count, one, other);
    swapped_.try_emplace(old_[other].tensor->count, one, other);
  }
  std::string Irregularity(std::uint32_t i, const Match& match) const;
  bool IsUniform(const Block& block) const;
  // Whether the nodes that read it are of one module, so that no optimizer
  // merged tensors that happened to be equal.
  bool IsReadByOne(std::uint32_t i) const;
  // Whether both give the same in the new checkpoint, too.
  bool IsSameNow(Recipe a, Recipe b) const;
  bool IsSameNow(Block a, Block b) const;
  // One of the parameters that `fits` stands for which has other new numbers
  // than `block`, or kNoParameter.
  std::uint32_t DiffersNow(const Block& block, Block fits) const;
  // Why new numbers for it cannot be made; "" if they can.
  std::string WhyUnusable(const Recipe& recipe) const;
  // Gives tensor `to` a part of what the recipe of tensor `from` makes.
  void Take(std::uint32_t from, std::uint32_t to, Part part);
  std::string Text(const RefitRow& row, std::int32_t type) const;

  // The parameters whose numbers a tensor has, and no other parameter has.
  void FindHeld();
  // Finds the parameter that each reader wants, where several have these
  // numbers. False: not all readers say it.
  bool Split(std::uint32_t i);
  // What one reader says: one of `fits`, or kNoParameter.
  std::uint32_t ToldAt(std::uint32_t i, NodeId node, std::uint32_t slot,
                       const Fits& fits) const;
  bool Holds(const Fits& fits, std::uint32_t parameter) const {
    return parameter != kNoParameter && fits.contains(search_.First(parameter));
  }
  std::uint32_t BiasBeside(const Use& use) const;
  void AddSplits();

  // Without an old checkpoint: exact names, where nothing can be folded in.
  void TakeName(std::uint32_t i);
  // What has no recipe is kept if it holds no parameter, else refused.
  void Settle();
  std::string WhyKept(std::uint32_t i) const;
  // Whether it is a scale or zero point of a tensor of the model.
  bool ScalesTensor(const Use& use) const;
  // Whether a recurrent layer starts with it, perhaps repeated.
  bool IsState(NodeId node, std::uint32_t slot) const;

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
  std::vector<bool> differs_;          // by parameter
  const BlockSearch search_;
  std::vector<std::uint32_t> first_now_;  // as FirstAlike(), of the new ones
  // Of parameters that are alike, with the same new numbers: the last. By the
  // first of those that are alike, and the first with the new numbers.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> kinds_;
  std::map<std::uint64_t, std::vector<std::uint32_t>> floats_;   // by count
  std::map<std::uint64_t, std::vector<Norm>> norms_;             // by size
  std::map<std::uint64_t, std::vector<std::uint32_t>> vectors_;  // by size
  std::map<std::uint64_t, std::vector<std::uint32_t>> tables_;   // by width
  bool lacks_norm_ = false;  // that the checkpoint has
  std::string prefix_;       // of the graph's names of parameters
  std::unordered_map<ValueId, std::uint32_t> by_value_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::string_view, std::uint32_t> parameters_;
  std::map<std::uint32_t, QuantizedGroup> groups_;  // by quantized tensor
  std::map<std::uint32_t, QuantizedGroup> biases_;
  std::map<std::uint32_t, std::uint32_t> helpers_;  // what they belong to
  std::map<std::uint32_t, std::string> refused_;
  std::vector<Match> matches_;
  std::vector<RefitRow> rows_;
  // Of nodes that read a tensor as another parameter than the first ones do.
  std::vector<RefitRow> splits_;
  // By count: a parameter, and another one in whose place it is.
  std::map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> swapped_;
  std::set<std::uint32_t> turned_;  // other than those of equal layers
  std::set<std::uint32_t> held_;
  // Parameters that no tensor holds, in modules of which one is held: the first
  // that is alike, the tensor with its name, and the first with the new
  // numbers.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> awaited_;
  std::set<std::string> held_modules_;     // with a dot at their end
  std::set<std::string> changed_modules_;  // whose weight is a product
};

}  // namespace onnx_tag::weights
