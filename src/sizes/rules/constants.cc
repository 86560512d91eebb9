#include <algorithm>
#include <cmath>

#include "model/element_count.h"
#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {

Inferred ShapeOf(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return Gives({kUnknownDim});
  const auto rank = static_cast<std::int64_t>(data->size());
  std::int64_t start = node.attributes().Int("start", 0);
  std::int64_t end = node.attributes().Int("end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = std::clamp<std::int64_t>(start, 0, rank);
  end = std::clamp<std::int64_t>(end, start, rank);
  Inferred inferred = Gives({end - start});
  Numbers numbers;
  for (std::int64_t i = start; i < end; ++i) {
    const std::int64_t dim = (*data)[static_cast<std::size_t>(i)];
    // A number that is not known is no number: NaN goes through sums.
    numbers.push_back(dim == kUnknownDim ? std::nan("")
                                         : static_cast<double>(dim));
  }
  inferred.numbers = std::move(numbers);
  return inferred;
}

Inferred SizeOf(const NodeView& node) {
  Inferred inferred = Gives({});
  const Shape* const data = node.Input(0);
  if (data != nullptr &&
      std::find(data->begin(), data->end(), kUnknownDim) == data->end()) {
    inferred.numbers = {static_cast<double>(CountElements(*data))};
  }
  return inferred;
}

Inferred ConstantValue(const NodeView& node) {
  const Bytes bytes = node.attributes().Tensor("value");
  if (!bytes.empty()) {
    SmallTensor tensor = ReadSmallTensor(bytes);
    return {.outputs = {tensor.dims},
            .numbers = std::move(tensor.numbers),
            .types = {tensor.data_type}};
  }
  if (const auto ints = node.attributes().Ints("value_ints")) {
    Inferred inferred = Gives({static_cast<std::int64_t>(ints->size())});
    inferred.types = {kInt64};
    if (ints->size() <= kMostElements) {
      inferred.numbers.emplace(ints->begin(), ints->end());
    }
    return inferred;
  }
  if (node.attributes().Has("value_float")) {
    return {.outputs = {Shape{}}, .types = {kFloat}};
  }
  if (node.attributes().Has("value_floats")) {
    return {.outputs = {Shape{kUnknownDim}}, .types = {kFloat}};
  }
  if (!node.attributes().Has("value_int")) return {};
  Inferred inferred = Gives({});
  inferred.types = {kInt64};
  inferred.numbers = {
      static_cast<double>(node.attributes().Int("value_int", 0))};
  return inferred;
}

Inferred FilledShape(const NodeView& node) {  // ConstantOfShape
  const auto wanted = node.Sizes(0);
  if (wanted && wanted->size() > kMostRank) return {};
  Inferred inferred = wanted ? Gives(*wanted) : GivesRank(node.Count("", 0));
  const Bytes bytes = node.attributes().Tensor("value");
  double fill = 0;
  inferred.types = {kFloat};
  if (!bytes.empty()) {
    const SmallTensor tensor = ReadSmallTensor(bytes);
    inferred.types = {tensor.data_type};
    if (!tensor.numbers || tensor.numbers->size() != 1) return inferred;
    fill = tensor.numbers->front();
  }
  if (!wanted) return inferred;
  const bool known = std::all_of(wanted->begin(), wanted->end(),
                                 [](std::int64_t dim) { return dim >= 0; });
  const std::uint64_t elements = known ? CountElements(*wanted) : 0;
  if (known && elements <= kMostElements) {
    inferred.numbers.emplace(static_cast<std::size_t>(elements), fill);
  }
  return inferred;
}

Inferred RangeOf(const NodeView& node) {
  const Numbers* const start = node.InputNumbers(0);
  const Numbers* const limit = node.InputNumbers(1);
  const Numbers* const step = node.InputNumbers(2);
  Inferred inferred = Gives({kUnknownDim});
  for (const Numbers* const one : {start, limit, step}) {
    if (one == nullptr || one->size() != 1 || !std::isfinite(one->front())) {
      return inferred;
    }
  }
  const double count =
      std::ceil((limit->front() - start->front()) / step->front());
  if (!(count < 1e15)) return inferred;
  const auto size = static_cast<std::int64_t>(std::max(0.0, count));
  inferred.outputs = {Shape{size}};
  if (size <= static_cast<std::int64_t>(kMostElements)) {
    inferred.numbers.emplace();
    for (std::int64_t i = 0; i < size; ++i) {
      inferred.numbers->push_back(start->front() +
                                  static_cast<double>(i) * step->front());
    }
  }
  return inferred;
}

// NonZero: a row for each axis. NonMaxSuppression: three numbers for each box.
Inferred FoundPlaces(const NodeView& node) {
  if (node.op() == "NonMaxSuppression") return Gives({kUnknownDim, 3});
  const Shape* const data = node.Input(0);
  return Gives(
      {data == nullptr ? kUnknownDim : static_cast<std::int64_t>(data->size()),
       kUnknownDim});
}

}  // namespace onnx_tag::sizes
