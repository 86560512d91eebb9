#include "base/lists.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Number Choose(const Number& which, const Number& yes, const Number& no) {
  if (which.over.IsNumber()) return which.over.Is(0) ? no : yes;
  return yes == no ? yes : Number{};
}

// What one number becomes.
Number Converted(const NodeView& node, const Number& a) {
  const Arithmetic arithmetic(node.formulas());
  if (node.op() == Op::kIdentity) return a;
  if (node.op() == Op::kCast || node.op() == Op::kCastLike) {
    const std::int32_t to = FirstType(node);
    if (to == kBool) return arithmetic.Not(arithmetic.Not(a));
    return IsInteger(to) ? arithmetic.Truncate(a) : a;
  }
  const Convert convert = RulesOf(node.op()).convert;
  return convert == nullptr ? Number{} : (arithmetic.*convert)(a);
}

// Nothing where none of them is known.
std::optional<Numbers> IfAnyKnown(Numbers numbers) {
  const bool any = AnyIn(numbers.elements,
                         [](const Number& number) { return number.known(); });
  return any ? std::optional(std::move(numbers)) : std::nullopt;
}

std::optional<Numbers> ConvertAll(const NodeView& node) {
  const Numbers* const from = node.InputNumbers(0);
  if (from == nullptr) return std::nullopt;
  Numbers numbers{{}, from->uniform};
  for (const Number& number : from->elements) {
    numbers.elements.push_back(Converted(node, number));
  }
  return IfAnyKnown(std::move(numbers));
}

Number CalculateAt(const NodeView& node, const std::vector<Small>& inputs,
                   std::size_t i) {
  if (node.op() == Op::kWhere) {
    return inputs.size() != 3
               ? Number{}
               : Choose(inputs[0].elements[i], inputs[1].elements[i],
                        inputs[2].elements[i]);
  }
  const Combine combine = RulesOf(node.op()).combine;
  const Arithmetic arithmetic(node.formulas());
  Number number = inputs[0].elements[i];
  for (std::size_t j = 1; j < inputs.size(); ++j) {
    if (combine == nullptr) return {};
    number = (arithmetic.*combine)(number, inputs[j].elements[i]);
  }
  return node.op() == Op::kDiv && IsInteger(node.InputType(0))
             ? arithmetic.Truncate(number)
             : number;
}

// The numbers that a node computes of numbers, element by element.
std::optional<Numbers> CalculateAll(const NodeView& node) {
  std::vector<Small> inputs;
  std::optional<Shape> shape = Shape();
  bool uniform = true;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Numbers* const numbers = node.InputNumbers(i);
    if (numbers == nullptr) return std::nullopt;
    uniform = uniform && numbers->elements.size() == 1;
    inputs.push_back({{}, numbers->elements});
  }
  if (inputs.empty()) return std::nullopt;
  Numbers result;
  if (uniform) {
    result.elements = {CalculateAt(node, inputs, 0)};
    result.uniform = true;
  } else {
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      auto small = node.SmallInput(i);
      if (!small) return std::nullopt;
      shape = node.Broadcast(*shape, *node.Input(i));
      if (!shape) return std::nullopt;
      inputs[i] = std::move(*small);
    }
    for (Small& input : inputs) {
      auto repeated = Repeated(input, *PlainDims(*shape));
      if (!repeated) return std::nullopt;
      input = std::move(*repeated);
    }
    for (std::size_t i = 0; i < inputs[0].elements.size(); ++i) {
      result.elements.push_back(CalculateAt(node, inputs, i));
    }
  }
  return IfAnyKnown(std::move(result));
}

// The numbers of a reduction over all elements.
std::optional<Numbers> ReduceAll(const NodeView& node) {
  const auto small = node.SmallInput(0);
  if (!small || small->elements.empty()) return std::nullopt;
  const Arithmetic arithmetic(node.formulas());
  const Combine combine = RulesOf(node.op()).combine;
  Number result = small->elements[0];
  for (std::size_t i = 1; i < small->elements.size(); ++i) {
    if (combine == nullptr) return std::nullopt;
    result = (arithmetic.*combine)(result, small->elements[i]);
  }
  if (!result.known()) return std::nullopt;
  return OneNumber(result);
}

Facts ReduceAxes(const NodeView& node, const Shape& data,
                 const std::optional<Ints>& axes, bool all_if_empty) {
  const bool keep = node.Flag("keepdims", true);
  const bool all = all_if_empty && (!axes || axes->empty());
  const auto reduced = Marked(axes.value_or(Ints()), data.size());
  if (!reduced) return {};
  Shape shape;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const bool kept = !all && !(*reduced)[i];
    if (kept || keep) shape.push_back(kept ? data[i] : Dim(1));
  }
  return Gives(std::move(shape));
}

}  // namespace

namespace shape {

Facts Same(const NodeView& node, const Shape& shape) {
  Facts facts = Gives(shape);
  if (node.op() == Op::kIdentity)
    facts[0].sequence = node.InputFact(0).sequence;
  facts[0].numbers = ConvertAll(node);
  return facts;
}

Facts Broadcast(const NodeView& node) {
  std::optional<Shape> shape;
  // Before opset 7 the second operand was laid over some axes of the first.
  const bool old = node.attributes().Has("broadcast");
  const std::size_t count = old ? 1 : node.inputs();
  for (std::size_t i = 0; i < count; ++i) {
    if (!node.Has(i)) continue;
    const Shape* const input = node.Input(i);
    if (input == nullptr) return {};
    shape = shape ? node.Broadcast(*shape, *input) : *input;
    if (!shape) return {};
  }
  if (!shape) return {};
  Facts facts = Gives(std::move(*shape));
  facts[0].numbers = CalculateAll(node);
  return facts;
}

Facts Halved(const NodeView& node, const Shape& data) {
  return data.empty() ? Facts()
                      : GivesLast(data, node.formulas().Floor(data.back(), 2));
}

Facts Dropout(const NodeView&, const Shape& data) {
  return {{.shape = data}, {.shape = data, .type = kBool}};
}

Facts BatchNorm(const NodeView& node, const Shape& data) {
  Facts facts = Gives(data);
  facts.resize(node.outputs(), node.InputFact(1));
  return facts;
}

Facts LayerNorm(const NodeView& node, const Shape& data) {
  Facts facts = Gives(data);
  const auto axis = Axis(node.Int("axis", -1), data.size());
  if (!axis) return facts;
  Shape statistics(data.begin(), At(data, *axis));
  statistics.resize(data.size(), 1);
  const auto type = static_cast<std::int32_t>(node.Int("stash_type", kFloat));
  facts.resize(node.outputs(), {.shape = statistics, .type = type});
  return facts;
}

// The fourth output is the sum that is normalized; of SkipGroupNorm the second.
Facts SkipNorm(const NodeView& node, const Shape& data) {
  const Fact sum{.shape = data};
  if (node.op() == Op::kSkipGroupNorm) return {sum, sum};
  Fact statistics{.shape = data, .type = kFloat};
  if (!data.empty()) statistics.shape->back() = 1;
  return {sum, statistics, statistics, sum};
}

Facts DynamicQuantize(const NodeView& node) {
  return {{.shape = node.InputFact(0).shape, .type = kUint8},
          {.shape = Shape(), .type = kFloat},
          {.shape = Shape(), .type = kUint8}};
}

// A, its scale and zero point, B, its scale and zero point, ...
Facts QuantizedBroadcast(const NodeView& node, const Shape& a, const Shape& b) {
  auto shape = node.Broadcast(a, b);
  return shape ? Gives(std::move(*shape)) : Facts();
}

Facts QuantizedWhere(const NodeView& node, const Shape& a, const Shape& b,
                     const Shape& which) {
  const auto shape = node.Broadcast(a, b);
  return shape ? QuantizedBroadcast(node, *shape, which) : Facts();
}

Facts Reduce(const NodeView& node, const Shape& data) {
  const auto axes = node.IntList("axes", 1);
  if (!axes && node.Has(1) && node.row().like == node.op()) {
    return node.Flag("keepdims", true) ? GivesOwn(node, data.size())
                                       : GivesWithout(node, data.size());
  }
  const bool all = !node.Flag("noop_with_empty_axes");
  Facts facts = ReduceAxes(node, data, axes, all);
  const bool one = data.size() == 1 && (all || (axes && !axes->empty()));
  if (one && !facts.empty()) facts[0].numbers = ReduceAll(node);
  return facts;
}

Facts ArgReduce(const NodeView& node, const Shape& data) {
  return ReduceAxes(node, data, Ints{node.Int("axis")}, true);
}

Facts Determinant(const NodeView&, const Shape& data) {
  return data.size() < 2 ? Facts() : Gives(Shape(data.begin(), data.end() - 2));
}

// Scores [N, classes, d...], labels [N, d...]; then perhaps log-probabilities.
Facts Loss(const NodeView& node) {
  const bool all = node.attributes().Get("reduction").text == "none";
  return {{.shape = all ? node.InputFact(1).shape : Shape()},
          {.shape = node.InputFact(0).shape}};
}

}  // namespace shape
}  // namespace onnx_tag::sizes
