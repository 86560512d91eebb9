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
  for (const ReferenceTensor& tensor : reference) {
    if (!held.contains(tensor.name)) result.missing.push_back(tensor.name);
  }
  return result;
}

}  // namespace onnx_tag::weights
