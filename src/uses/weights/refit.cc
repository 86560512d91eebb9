// Tested by tests/app/commands/refit_test.cc.
#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/lists.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/weights/planner.h"

namespace onnx_tag::weights {

Planner::Planner(const Model& model, const Tagging& tagging, const Store& store,
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
  FindPrefix();
}

RefitPlan Planner::Run() {
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
  AddSplits();
  RefitPlan plan{std::move(rows_), now_, {}};
  std::set<std::uint32_t> used;
  for (const RefitRow& row : plan.rows) {
    if (row.recipe == nullptr) continue;
    for (const std::uint32_t one : row.recipe->Parameters()) used.insert(one);
  }
  for (std::uint32_t i = 0; i < old_.size(); ++i) {
    if (used.contains(i) || !differs_[i]) continue;
    const Tensor& tensor = *old_[i].tensor;
    plan.unused.push_back(tensor.name);
    if (tensor.count > 0 && IsFloat(tensor.type) &&
        held_modules_.contains(ModuleOf(i)) &&
        (tensor.At(0) == 0 || tensor.At(0) == 1) &&
        IsUniform(Whole(i, tensor.count).blocks[0])) {
      plan.left_out.push_back(tensor.name);
    }
  }
  return plan;
}

void Planner::FindNow() {
  Side usable;
  for (const Parameter& old : old_) {
    const Tensor& was = *old.tensor;
    const Tensor* const tensor = request_.now->Find(was.name);
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
    usable.push_back({why.empty() ? tensor : nullptr, now_.back().added});
    unusable_.push_back(std::move(why));
    differs_.push_back(
        FindsDifference(static_cast<std::uint32_t>(differs_.size())));
  }
  first_now_ = FirstAlike(usable);
  for (std::uint32_t i = 0; i < old_.size(); ++i) {
    kinds_[{search_.First(i), first_now_[i]}] = i;
  }
}

bool Planner::FindsDifference(std::uint32_t parameter) const {
  if (!unusable_[parameter].empty() || now_[parameter].added != nullptr ||
      now_[parameter].tensor->type != old_[parameter].tensor->type) {
    return true;
  }
  const Tensor& was = *old_[parameter].tensor;
  const Tensor& now = *now_[parameter].tensor;
  const bool same =
      WeightFiles::HaveSameBytes({was.bytes, was.file}, {now.bytes, now.file});
  was.Release();
  now.Release();
  return !same;
}

std::uint32_t Planner::FindParameter(const std::string& name) const {
  const auto at = parameters_.find(name);
  return at == parameters_.end() ? kNoParameter : at->second;
}

void Planner::FindNorms() {
  constexpr std::string_view kVariance = ".running_var";
  for (std::uint32_t i = 0; i < old_.size(); ++i) {
    const Tensor& tensor = *old_[i].tensor;
    if (tensor.name.ends_with(kVariance)) {
      const std::string module = ModuleOf(i);
      lacks_norm_ |= TensorNamed(tensor.name) == kNoTensor;
      norms_[tensor.count].push_back(
          {FindParameter(module + "weight"), FindParameter(module + "bias"),
           FindParameter(module + "running_mean"), i});
    }
    if (!IsFloat(tensor.type)) continue;
    floats_[tensor.count].push_back(i);
    const auto wide =
        CountIn(tensor.dims, [](std::int64_t dim) { return dim > 1; });
    if (wide == 1) vectors_[tensor.count].push_back(i);
    if (tensor.dims.size() == 2 && tensor.dims[1] > 1 &&
        tensor.count <= kMostPicked) {
      tables_[static_cast<std::uint64_t>(tensor.dims[1])].push_back(i);
    }
  }
}

// A wrapper around the model gives the names of its modules one prefix.
void Planner::FindPrefix() {
  std::map<std::string, std::size_t> votes;
  for (const Weight& hint : hints_) {
    for (const auto* names : {&hint.parameters, &hint.may_hold}) {
      for (const std::string& name : *names) {
        std::size_t at = 0;
        while (at != std::string::npos &&
               FindParameter(name.substr(at)) == kNoParameter) {
          const std::size_t dot = name.find('.', at);
          at = dot == std::string::npos ? dot : dot + 1;
        }
        if (at != 0 && at != std::string::npos) ++votes[name.substr(0, at)];
      }
    }
  }
  std::size_t most = 0;
  for (const auto& [prefix, count] : votes) {
    if (count > most) prefix_ = prefix;
    most = std::max(most, count);
  }
}

std::uint32_t Planner::FindHinted(const std::string& name) const {
  const std::uint32_t exact = FindParameter(name);
  return exact == kNoParameter && name.starts_with(prefix_)
             ? FindParameter(name.substr(prefix_.size()))
             : exact;
}

const Weight& Planner::HintOf(std::uint32_t tensor) const {
  static const Weight kNothing;
  const std::uint32_t i = tensors_[tensor].initializer;
  return i < hints_.size() ? hints_[i] : kNothing;
}

std::vector<std::uint32_t> Planner::HeldBy(const Weight& weight) const {
  std::vector<std::uint32_t> found;
  for (const auto* names : {&weight.parameters, &weight.may_hold}) {
    for (const std::string& name : *names) {
      const std::uint32_t one = FindHinted(name);
      if (one != kNoParameter) found.push_back(one);
    }
  }
  return found;
}

void Planner::TakeName(std::uint32_t i) {
  const Stored& stored = tensors_[i];
  const std::uint32_t one = FindParameter(stored.name);
  if (one == kNoParameter || stored.bytes.empty() || !IsFloat(stored.type) ||
      old_[one].tensor->type != stored.type ||
      old_[one].tensor->dims != stored.dims) {
    return;
  }
  bool foldable = false;
  for (const Use& use : uses_.Of(stored.value)) {
    foldable |= reader_.ops().Is(use.node, OpKind::kConvolution) ||
                reader_.ops()[use.node] == Op::kGemm;
  }
  if (lacks_norm_ && foldable) {
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

void Planner::Settle() {
  for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
    RefitRow& row = rows_[i];
    const auto refused = refused_.find(i);
    if (refused != refused_.end()) {
      row.fate = Fate::kRefused;
      row.why = refused->second;
    }
    if (row.recipe != nullptr && row.fate == Fate::kWritten) continue;
    const Weight& hint = HintOf(i);
    // A number that equals a parameter by chance.
    const bool chance = tensors_[i].count <= kWeak && hint.parameters.empty() &&
                        hint.may_hold.empty() && refused == refused_.end() &&
                        NamedParameter(i) == kNoParameter;
    if (row.recipe == nullptr || chance) {
      const std::string kept = WhyKept(i);
      if (!kept.empty() && (row.fate != Fate::kRefused || row.recipe)) {
        row.fate = Fate::kKept;
        row.recipe = nullptr;
        row.transform.clear();
        row.parameters.clear();
        row.why = kept;
      } else {
        row.fate = Fate::kRefused;
      }
    }
    if (row.fate != Fate::kRefused) continue;
    if (row.why.empty()) {
      row.why = tensors_[i].tensor.empty()
                    ? "it is sparse, or another tensor has its name"
                : tensors_[i].bytes.empty() ? "its numbers cannot be read"
                : request_.was == nullptr
                    ? "no parameter has its name, shape and type"
                    : "no known transform of OLD gives its bytes";
    }
    for (const std::string& pattern : request_.keep) {
      if (!MatchesPattern(pattern, tensors_[i].name, std::string_view()))
        continue;
      row.fate = Fate::kKept;
      row.why = "--keep";
      row.recipe = nullptr;
    }
  }
  for (const auto& [bias, group] : biases_) {
    for (const std::uint32_t of : {group.weight, group.input}) {
      if (rows_[bias].fate != Fate::kWritten || of == kNoTensor ||
          rows_[of].fate == Fate::kWritten) {
        continue;
      }
      rows_[bias].fate = Fate::kRefused;
      rows_[bias].why = Message("{} is not written", tensors_[of].name);
    }
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

std::string Planner::WhyKept(std::uint32_t i) const {
  const Stored& stored = tensors_[i];
  const Weight& hint = HintOf(i);
  if (stored.count == 0) return "it is empty";
  if (helpers_.contains(i)) return "of a quantized tensor";
  const std::vector<Use> uses = uses_.Of(stored.value);
  const auto group = groups_.find(i);
  const bool named = NamedParameter(i) != kNoParameter;
  if (group != groups_.end() && hint.parameters.empty() && !named) {
    const Numbers& numbers = group->second.numbers;
    if (const auto table = TableKind(numbers); !table.empty()) {
      return std::string(table);
    }
    if (numbers.count <= kSmall && !LooksComputed(numbers)) return "a constant";
  }
  if (!IsFloat(stored.type)) {
    const bool weight =
        hint.change == Change::kQuantized || groups_.contains(i) ||
        AnyIn(uses, [&](const Use& use) { return ScalesTensor(use); });
    return weight ? "" : "whole numbers";
  }
  if (stored.bytes.empty()) return "";
  bool data_scale = false;
  bool parameter = !hint.parameters.empty() || !hint.may_hold.empty() || named;
  bool only_state = !uses.empty();
  for (const Use& use : uses) {
    data_scale |= use.operand == Operand::kDataScale ||
                  (use.operand == Operand::kScale && !ScalesTensor(use));
    parameter |= ScalesTensor(use);
    only_state &= IsState(use.node, use.slot);
    parameter |= IsParameter(use.operand) &&
                 (use.operand < Operand::kScale ||
                  use.operand > Operand::kDataZeroPoint) &&
                 !(use.operand == Operand::kMatrix && stored.count == 1);
  }
  if (data_scale && !parameter && stored.count == 1)
    return "a scale of an activation";
  const Numbers numbers = NumbersOf(i);
  const std::string_view table = TableKind(numbers);
  if (!table.empty() && (table != kOneNumber || !parameter)) {
    return std::string(table);
  }
  if (only_state && numbers.IsUniform(0, stored.count)) {
    return "the first state";
  }
  if (parameter || stored.count > kSmall || LooksComputed(numbers)) return "";
  return "a constant";
}

bool Planner::IsState(NodeId node, std::uint32_t slot) const {
  if (!reader_.ops().Is(node, OpKind::kExpand)) {
    return reader_.ops().Is(node, OpKind::kRecurrent) && slot > 3;
  }
  const std::vector<Use> uses = uses_.Of(model_.Outputs(node)[0]);
  return AllIn(uses, [&](const Use& use) {
    return reader_.ops().Is(use.node, OpKind::kRecurrent) && use.slot > 3;
  });
}

RefitPlan PlanRefit(const Model& model, const Tagging& tagging,
                    const Store& store, const RefitRequest& request) {
  return Planner(model, tagging, store, request).Run();
}

}  // namespace onnx_tag::weights
