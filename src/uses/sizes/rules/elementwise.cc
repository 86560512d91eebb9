#include <algorithm>

#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Number Not(const Number& a) {
  if (!a.over.IsNumber()) return {};
  return {a.over.Is(0) ? 1 : 0};
}

Number And(const Number& a, const Number& b) {
  if (a.over.Is(0) || b.over.Is(0)) return {0};
  return a.over.IsNumber() && b.over.IsNumber() ? Number{1} : Number{};
}

Number Power(const Arithmetic& arithmetic, const Number& a, const Number& b) {
  constexpr std::int64_t kMost = 8;
  const Dim times = b.whole();
  if (!times.IsNumber() || times.number() < 0 || times.number() > kMost) {
    return {};
  }
  Number power{1};
  for (std::int64_t i = 0; i < times.number(); ++i) {
    power = arithmetic.Times(power, a);
  }
  return power;
}

Number Calculate(const NodeView& node, const Number& a, const Number& b) {
  const Arithmetic arithmetic(node.formulas());
  switch (node.op()) {
    case Op::kAdd:
    case Op::kSum:
      return arithmetic.Plus(a, b);
    case Op::kSub:
      return arithmetic.Minus(a, b);
    case Op::kMul:
      return arithmetic.Times(a, b);
    case Op::kDiv:
      return arithmetic.Divide(a, b, IsInteger(node.InputType(0)));
    case Op::kMod:
      return arithmetic.Modulo(a, b);
    case Op::kPow:
      return Power(arithmetic, a, b);
    case Op::kMax:
      return arithmetic.Max(a, b);
    case Op::kMin:
      return arithmetic.Min(a, b);
    case Op::kEqual:
      return arithmetic.Equal(a, b);
    case Op::kLess:
      return arithmetic.Less(a, b);
    case Op::kGreater:
      return arithmetic.Less(b, a);
    case Op::kLessOrEqual:
      return Not(arithmetic.Less(b, a));
    case Op::kGreaterOrEqual:
      return Not(arithmetic.Less(a, b));
    case Op::kAnd:
      return And(a, b);
    case Op::kOr:
      return Not(And(Not(a), Not(b)));
    default:
      return {};
  }
}

Number Choose(const Number& which, const Number& yes, const Number& no) {
  if (which.over.IsNumber()) return which.over.Is(0) ? no : yes;
  return yes == no ? yes : Number{};
}

// What one number becomes.
Number Convert(const NodeView& node, const Number& a) {
  const Arithmetic arithmetic(node.formulas());
  switch (node.op()) {
    case Op::kIdentity:
      return a;
    case Op::kCast:
    case Op::kCastLike: {
      const std::int32_t to = FirstType(node);
      if (to == kBool) return Not(Not(a));
      return IsInteger(to) ? arithmetic.Truncate(a) : a;
    }
    case Op::kNeg:
      return arithmetic.Minus({0}, a);
    case Op::kAbs:
      return arithmetic.Max(a, arithmetic.Minus({0}, a));
    case Op::kRelu:
      return arithmetic.Max(a, {0});
    case Op::kFloor:
      return arithmetic.Floor(a);
    case Op::kCeil:
      return arithmetic.Ceil(a);
    case Op::kNot:
      return Not(a);
    default:
      return {};
  }
}

bool AnyKnown(const std::vector<Number>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(),
                     [](const Number& number) { return number.known(); });
}

std::optional<Numbers> ConvertAll(const NodeView& node) {
  const Numbers* const from = node.InputNumbers(0);
  if (from == nullptr) return std::nullopt;
  Numbers numbers{{}, from->uniform};
  for (const Number& number : from->elements) {
    numbers.elements.push_back(Convert(node, number));
  }
  return AnyKnown(numbers.elements) ? std::optional(std::move(numbers))
                                    : std::nullopt;
}

Number CalculateAt(const NodeView& node, const std::vector<Small>& inputs,
                   std::size_t i) {
  if (node.op() == Op::kWhere) {
    return inputs.size() != 3
               ? Number{}
               : Choose(inputs[0].elements[i], inputs[1].elements[i],
                        inputs[2].elements[i]);
  }
  Number number = inputs[0].elements[i];
  if (inputs.size() == 1) return number;
  for (std::size_t j = 1; j < inputs.size(); ++j) {
    number = Calculate(node, number, inputs[j].elements[i]);
  }
  return number;
}

// The numbers that a node computes of numbers, element by element.
std::optional<Numbers> CalculateAll(const NodeView& node) {
  std::vector<Small> inputs;
  std::optional<Ints> dims = Ints{};
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
      dims = BroadcastInts(*dims, small->dims);
      if (!dims) return std::nullopt;
      inputs[i] = std::move(*small);
    }
    for (Small& input : inputs) {
      auto repeated = Repeated(input, *dims);
      if (!repeated) return std::nullopt;
      input = std::move(*repeated);
    }
    for (std::size_t i = 0; i < inputs[0].elements.size(); ++i) {
      result.elements.push_back(CalculateAt(node, inputs, i));
    }
  }
  return AnyKnown(result.elements) ? std::optional(std::move(result))
                                   : std::nullopt;
}

// The numbers of a reduction over all elements.
std::optional<Numbers> ReduceAll(const NodeView& node) {
  const auto small = node.SmallInput(0);
  if (!small || small->elements.empty()) return std::nullopt;
  const Arithmetic arithmetic(node.formulas());
  Number result = small->elements[0];
  for (std::size_t i = 1; i < small->elements.size(); ++i) {
    const Number& next = small->elements[i];
    switch (node.op()) {
      case Op::kReduceProd:
        result = arithmetic.Times(result, next);
        break;
      case Op::kReduceSum:
        result = arithmetic.Plus(result, next);
        break;
      case Op::kReduceMax:
        result = arithmetic.Max(result, next);
        break;
      case Op::kReduceMin:
        result = arithmetic.Min(result, next);
        break;
      default:
        return std::nullopt;
    }
  }
  if (!result.known()) return std::nullopt;
  return OneNumber(result);
}

Facts ReduceAxes(const NodeView& node, const Shape& data,
                 const std::optional<Ints>& axes, bool all_if_empty) {
  const bool keep = node.attributes().Int("keepdims", 1) != 0;
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

Facts Same(const NodeView& node) {
  const Shape* const shape = node.Input(0);
  if (shape == nullptr) return {};
  Facts facts = Gives(*shape);
  if (node.op() == Op::kIdentity && node.InputSequence(0) != nullptr) {
    facts[0].sequence = std::make_shared<Sequence>(*node.InputSequence(0));
  }
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

Facts Halved(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr || data->empty()) return {};
  Shape shape = *data;
  shape.back() = node.formulas().Floor(shape.back(), 2);
  return Gives(std::move(shape));
}

Facts Dropout(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  Facts facts = Gives(*data);
  facts.push_back({.shape = *data, .type = kBool});
  return facts;
}

Facts BatchNorm(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  Facts facts = Gives(*data);
  const Shape* const scale = node.Input(1);
  for (std::size_t i = 1; i < node.outputs() && scale != nullptr; ++i) {
    facts.push_back({.shape = *scale, .type = node.InputType(1)});
  }
  return facts;
}

Facts LayerNorm(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  Facts facts = Gives(*data);
  const auto axis = Axis(node.attributes().Int("axis", -1), data->size());
  if (node.outputs() == 1 || !axis) return facts;
  Shape statistics = *data;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis),
            statistics.end(), Dim(1));
  for (std::size_t i = 1; i < node.outputs(); ++i) {
    facts.push_back({.shape = statistics,
                     .type = static_cast<std::int32_t>(
                         node.attributes().Int("stash_type", kFloat))});
  }
  return facts;
}

// The fourth output is the sum that is normalized; of SkipGroupNorm the second.
Facts SkipNorm(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  Facts facts = Gives(*data);
  for (std::size_t i = 1; i < node.outputs(); ++i) {
    if (i == 3 || node.op() == Op::kSkipGroupNorm) {
      facts.push_back({.shape = *data});
      continue;
    }
    Shape statistics = *data;
    if (!statistics.empty()) statistics.back() = 1;
    facts.push_back({.shape = std::move(statistics), .type = kFloat});
  }
  return facts;
}

Facts DynamicQuantize(const NodeView& node) {
  const Shape* const data = node.Input(0);
  Facts facts(3);
  if (data != nullptr) facts[0].shape = *data;
  facts[0].type = kUint8;
  facts[1] = {.shape = Shape(), .type = kFloat};
  facts[2] = {.shape = Shape(), .type = kUint8};
  return facts;
}

// A, its scale and zero point, B, its scale and zero point, ...
Facts QuantizedBroadcast(const NodeView& node) {
  const Shape* const a = node.Input(0);
  const Shape* const b = node.Input(3);
  if (a == nullptr || b == nullptr) return {};
  auto shape = node.Broadcast(*a, *b);
  return shape ? Gives(std::move(*shape)) : Facts();
}

Facts QuantizedWhere(const NodeView& node) {
  const Shape* const which = node.Input(0);
  const Shape* const a = node.Input(1);
  const Shape* const b = node.Input(4);
  if (which == nullptr || a == nullptr || b == nullptr) return {};
  auto shape = node.Broadcast(*a, *b);
  if (shape) shape = node.Broadcast(*shape, *which);
  return shape ? Gives(std::move(*shape)) : Facts();
}

Facts Reduce(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto axes = node.IntList("axes", 1);
  if (!axes && node.Has(1) && node.row().like == node.op()) {
    if (node.attributes().Int("keepdims", 1) != 0) {
      return GivesOwn(node, data->size());
    }
    const auto count = node.Count("", 1);
    return count && *count <= data->size()
               ? GivesOwn(node, data->size() - *count)
               : Facts();
  }
  const bool all = node.attributes().Int("noop_with_empty_axes", 0) == 0;
  Facts facts = ReduceAxes(node, *data, axes, all);
  const bool one = data->size() == 1 && (all || (axes && !axes->empty()));
  if (one && !facts.empty()) facts[0].numbers = ReduceAll(node);
  return facts;
}

Facts ArgReduce(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  return ReduceAxes(node, *data, Ints{node.attributes().Int("axis", 0)}, true);
}

Facts Determinant(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr || data->size() < 2) return {};
  return Gives(Shape(data->begin(), data->end() - 2));
}

// Scores [N, classes, d...], labels [N, d...]; then perhaps log-probabilities.
Facts Loss(const NodeView& node) {
  const std::string_view reduction = node.attributes().Text("reduction");
  const Shape* const labels = node.Input(1);
  Facts facts(1);
  if (reduction != "none") {
    facts[0].shape = Shape();
  } else if (labels != nullptr) {
    facts[0].shape = *labels;
  }
  const Shape* const scores = node.Input(0);
  if (scores != nullptr) facts.push_back({.shape = *scores});
  return facts;
}

}  // namespace shape
}  // namespace onnx_tag::sizes
