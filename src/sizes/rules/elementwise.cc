#include <algorithm>
#include <cmath>

#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

std::optional<double> Calculate(std::string_view op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") {
    if (b == 0) return std::nullopt;
    return std::trunc(a / b);  // of integers
  }
  if (op == "Min") return std::min(a, b);
  if (op == "Max") return std::max(a, b);
  if (op == "Equal") return a == b ? 1 : 0;
  if (op == "Mod")
    return b == 0 ? std::nullopt : std::optional(std::fmod(a, b));
  return std::nullopt;
}

std::optional<Numbers> CalculateAll(const NodeView& node) {
  const Numbers* const a = node.InputNumbers(0);
  const Numbers* const b = node.InputNumbers(1);
  if (a == nullptr || b == nullptr || node.inputs() != 2) return std::nullopt;
  if (node.op() == "Div" && node.InputType(0) != kInt64) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) {
    return std::nullopt;
  }
  const std::size_t size =
      a->empty() || b->empty() ? 0 : std::max(a->size(), b->size());
  Numbers numbers;
  for (std::size_t i = 0; i < size; ++i) {
    const std::optional<double> number = Calculate(
        node.op(), (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Inferred SameAsFirst(const NodeView& node) {
  const Shape* const shape = node.Input(0);
  if (shape == nullptr) return {};
  Inferred inferred = Gives(*shape);
  if (node.op() == "Dropout") {
    inferred.outputs.emplace_back(*shape);
  } else if (node.op() == "DynamicQuantizeLinear") {
    inferred.outputs.resize(3, Shape{});
  } else if (node.op().starts_with("Skip")) {
    // The fourth output of a normalization is the sum it normalizes.
    inferred.outputs.resize(4);
    inferred.outputs[3] = *shape;
  }
  const bool cast = node.op() == "Cast";
  const bool floor = node.op() == "Floor";
  const Numbers* const numbers = node.InputNumbers(0);
  if (numbers == nullptr || (!cast && !floor && node.op() != "Identity")) {
    return inferred;
  }
  inferred.numbers = *numbers;
  for (double& number : *inferred.numbers) {
    if (floor) number = std::floor(number);
    if (cast && node.attributes().Int("to", 0) == kInt64)
      number = std::trunc(number);
  }
  return inferred;
}

Inferred BroadcastAll(const NodeView& node) {
  std::optional<Shape> shape;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (!node.Has(i)) continue;
    const Shape* const input = node.Input(i);
    if (input == nullptr) return {};
    shape = shape ? Broadcast(*shape, *input) : *input;
    if (!shape) return {};
  }
  if (!shape) return {};
  Inferred inferred = Gives(std::move(*shape));
  inferred.numbers = CalculateAll(node);
  if (node.op() == "Where") {
    const Numbers* const which = node.InputNumbers(0);
    const Numbers* const yes = node.InputNumbers(1);
    const Numbers* const no = node.InputNumbers(2);
    if (which != nullptr && yes != nullptr && no != nullptr &&
        which->size() == yes->size() && which->size() == no->size()) {
      inferred.numbers.emplace();
      for (std::size_t i = 0; i < which->size(); ++i) {
        inferred.numbers->push_back(std::isnan((*which)[i]) ? std::nan("")
                                    : (*which)[i] != 0      ? (*yes)[i]
                                                            : (*no)[i]);
      }
    }
  }
  return inferred;
}

Inferred SameAsSecond(const NodeView& node) {
  const Shape* const shape = node.Input(1);
  return shape == nullptr ? Inferred() : Gives(*shape);
}

Inferred Reducing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const bool arg = node.op() == "ArgMax" || node.op() == "ArgMin";
  std::optional<Shape> axes;
  if (arg) {
    axes = Shape{node.attributes().Int("axis", 0)};
  } else {
    axes = node.Ints("axes", 1);
  }
  const bool keep = node.attributes().Int("keepdims", 1) != 0;
  if (!axes && node.Has(1)) {
    if (keep) return GivesRank(data->size());
    const auto count = node.Count("axes", 1);
    return count && *count <= data->size() ? GivesRank(data->size() - *count)
                                           : Inferred();
  }
  if (!axes && node.attributes().Int("noop_with_empty_axes", 0) != 0) {
    return Gives(*data);
  }
  std::vector<bool> reduced(data->size(), !axes || axes->empty());
  if (axes) {
    for (const std::int64_t one : *axes) {
      const auto axis = Axis(one, data->size());
      if (!axis) return {};
      reduced[*axis] = true;
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < data->size(); ++i) {
    if (!reduced[i]) shape.push_back((*data)[i]);
    if (reduced[i] && keep) shape.push_back(1);
  }
  return Gives(std::move(shape));
}

}  // namespace onnx_tag::sizes
