#include "weights/check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace onnx_tag::weights {
namespace {

// Whether a tensor that was changed so can come from one of that shape.
bool Fits(const Weight& weight, std::span<const std::int64_t> found,
          std::vector<std::int64_t> expected) {
  switch (weight.change) {
    case Change::kTransposed:
      std::reverse(expected.begin(), expected.end());
      break;
    case Change::kSame:
      break;
    default:
      return true;
  }
  // A tensor may have lost or gained dimensions of 1.
  const auto without_ones = [](std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> rest;
    for (const std::int64_t dim : shape) {
      if (dim != 1) rest.push_back(dim);
    }
    return rest;
  };
  return without_ones(found) == without_ones(expected);
}

constexpr std::string_view kMean = ".running_mean";

// "a.norm" of "a.norm.running_mean"
std::string_view ModuleOf(std::string_view parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
}

// The normalizations with running statistics of which the model holds nothing,
// as far as it has as many folded biases of their size.
std::unordered_set<std::string_view> FindFoldedNorms(
    const Model& model, const std::vector<Weight>& weights,
    const std::vector<ReferenceTensor>& reference,
    const std::unordered_set<std::string_view>& held) {
  std::unordered_map<std::int64_t, std::size_t> biases;  // by size
  for (const Weight& weight : weights) {
    if (weight.may_hold.empty()) continue;
    std::int64_t size = 1;
    for (const std::int64_t dim :
         model.Dims(model.initializers()[weight.initializer])) {
      size *= std::max<std::int64_t>(dim, 1);
    }
    ++biases[size];
  }
  std::unordered_set<std::string_view> present;
  for (const std::string_view name : held) present.insert(ModuleOf(name));
  std::unordered_set<std::string_view> folded;
  for (const ReferenceTensor& tensor : reference) {
    const std::string_view name = tensor.name;
    if (!name.ends_with(kMean) || tensor.shape.size() != 1) continue;
    const auto left = biases.find(tensor.shape[0]);
    if (present.contains(ModuleOf(name)) || left == biases.end() ||
        left->second == 0) {
      continue;
    }
    --left->second;
    folded.insert(ModuleOf(name));
  }
  return folded;
}

}  // namespace

CheckResult Check(const Model& model, const std::vector<Weight>& weights,
                  const std::vector<ReferenceTensor>& reference) {
  CheckResult result;
  std::unordered_map<std::string_view, const ReferenceTensor*> known;
  for (const ReferenceTensor& tensor : reference) {
    known.emplace(tensor.name, &tensor);
  }
  std::unordered_set<std::string_view> held;
  for (const Weight& weight : weights) {
    const std::span<const std::int64_t> dims =
        model.Dims(model.initializers()[weight.initializer]);
    if (known.contains(weight.may_hold) &&
        held.insert(weight.may_hold).second) {
      ++result.fit;
    }
    // The parameters of a folded normalization are explained below.
    if (!weight.may_hold.empty()) continue;
    for (const std::string& name : weight.parameters) {
      const auto at = known.find(name);
      if (!held.insert(name).second) continue;
      if (at == known.end()) {
        result.left_over.push_back(name);
      } else if (at->second->has_shape &&
                 !Fits(weight, dims, at->second->shape)) {
        result.shapes.push_back(
            {name, at->second->shape, {dims.begin(), dims.end()}});
      } else {
        ++result.fit;
      }
    }
  }
  const std::unordered_set<std::string_view> folded =
      FindFoldedNorms(model, weights, reference, held);
  for (const ReferenceTensor& tensor : reference) {
    if (held.contains(tensor.name)) continue;
    if (tensor.name.ends_with("num_batches_tracked")) {
      ++result.counters;
    } else if (folded.contains(ModuleOf(tensor.name))) {
      ++result.folded;
    } else {
      result.missing.push_back(tensor.name);
    }
  }
  return result;
}

}  // namespace onnx_tag::weights
