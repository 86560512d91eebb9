#include "uses/sizes/rules/node_view.h"

#include <numeric>

namespace onnx_tag::sizes {

std::optional<std::size_t> SmallCount(const Ints& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim > static_cast<std::int64_t>(kMostElements)) return std::nullopt;
    count *= static_cast<std::size_t>(dim);
    if (count > kMostElements) return std::nullopt;
  }
  return count;
}

std::optional<Ints> PlainDims(const Shape& shape) {
  Ints dims;
  for (const Dim dim : shape) {
    if (!dim.IsNumber()) return std::nullopt;
    dims.push_back(dim.number());
  }
  return dims;
}

std::optional<Small> SmallOf(const Shape* shape) {
  auto dims = shape == nullptr ? std::nullopt : PlainDims(*shape);
  const auto count = dims ? SmallCount(*dims) : std::nullopt;
  if (!count) return std::nullopt;
  return Small{std::move(*dims), std::vector<Number>(*count)};
}

Ints FirstAxes(std::size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

std::optional<std::vector<bool>> Marked(const Ints& axes, std::size_t rank) {
  std::vector<bool> marked(rank);
  for (const std::int64_t one : axes) {
    const auto axis = Axis(one, rank);
    if (!axis) return std::nullopt;
    marked[*axis] = true;
  }
  return marked;
}

std::optional<Shape> Common(const std::optional<Shape>& a,
                            const std::optional<Shape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape shape = *a;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != (*b)[i]) shape[i] = kUnknownDim;
  }
  return shape;
}

std::optional<Small> Repeated(const Small& from, const Ints& dims) {
  if (dims.size() < from.dims.size()) return std::nullopt;
  if (dims == from.dims) return from;
  const auto more = static_cast<std::ptrdiff_t>(dims.size() - from.dims.size());
  return Picked(from, dims, [&](Ints& index) {
    index.erase(index.begin(), index.begin() + more);
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      if (from.dims[axis] == 1) index[axis] = 0;
    }
  });
}

namespace {

// How much a formula leaves to be told: less is better.
int Obscurity(const Formulas& formulas, Dim dim) {
  Term room;
  int sum = 0;
  for (const Term& term : formulas.Terms(dim, room)) {
    sum += 1;
    for (const Factor& factor : formulas.Factors(term.monomial)) {
      const Symbol::Kind kind = formulas[factor.symbol].kind;
      if (kind == Symbol::Kind::kData) sum += 1000;
      if (kind > Symbol::Kind::kData) sum += 10;
    }
  }
  return sum;
}

}  // namespace

Dim SizeIn(const Shape* shape, std::int64_t axis) {
  const auto at = shape == nullptr ? std::nullopt : Axis(axis, shape->size());
  return at ? (*shape)[*at] : kUnknownDim;
}

std::optional<Small> NodeView::SmallInput(std::size_t i) const {
  const Numbers* const numbers = InputNumbers(i);
  auto small = numbers == nullptr ? std::nullopt : SmallOf(Input(i));
  if (!small) return std::nullopt;
  if (numbers->uniform) {
    small->elements.assign(small->elements.size(), numbers->elements[0]);
  } else {
    if (numbers->elements.size() != small->elements.size()) return std::nullopt;
    small->elements = numbers->elements;
  }
  return small;
}

std::optional<Sizes> NodeView::InputSizes(std::size_t i) const {
  const auto small = SmallInput(i);
  if (!small) return std::nullopt;
  Sizes sizes;
  for (const Number& number : small->elements) sizes.push_back(number.whole());
  return sizes;
}

Number NodeView::InputNumber(std::size_t i) const {
  const Numbers* const numbers = InputNumbers(i);
  return numbers == nullptr || numbers->elements.size() != 1
             ? Number()
             : numbers->elements[0];
}

std::optional<Ints> NodeView::IntList(std::string_view name,
                                      std::size_t input) const {
  const auto sizes = SizeList(name, input);
  return sizes ? PlainDims(*sizes) : std::nullopt;
}

std::optional<Sizes> NodeView::SizeList(std::string_view name,
                                        std::size_t input) const {
  if (const auto ints = attributes_.IntList(name)) {
    return Sizes(ints->begin(), ints->end());
  }
  return InputSizes(input);
}

std::optional<std::size_t> NodeView::Count(std::size_t input) const {
  const Shape* const shape = Input(input);
  if (shape == nullptr || shape->size() > 1) return std::nullopt;
  const Dim count = shape->empty() ? Dim(1) : shape->front();
  if (!count.IsNumber() || count.number() < 0 ||
      count.number() > static_cast<std::int64_t>(kMostRank)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(count.number());
}

Dim NodeView::SameDim(Dim a, Dim b) const {
  if (a == b || !b.known()) return a;
  if (!a.known()) return b;
  // A number is right whatever the names mean.
  if (a.IsNumber() && b.IsNumber()) return a;
  facts_.NoteEqual(a, b);
  if (a.IsNumber()) return a;
  if (b.IsNumber()) return b;
  return Obscurity(formulas(), b) < Obscurity(formulas(), a) ? b : a;
}

Dim NodeView::BroadcastDim(Dim a, Dim b) const {
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  return SameDim(a, b);
}

std::optional<Shape> NodeView::Broadcast(const Shape& a, const Shape& b) const {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const std::size_t offset = shape.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = shape[offset + i];
    const Dim other = shorter[i];
    if (dim == other) continue;
    if (dim.IsNumber() && other.IsNumber() && !dim.Is(1) && !other.Is(1)) {
      return std::nullopt;
    }
    dim = BroadcastDim(dim, other);
  }
  return shape;
}

std::size_t NodeView::WeightInput() const {
  const std::size_t weight =
      row().FindInput({Operand::kWeight, Operand::kQuantized});
  return weight == Operator::kMostInputs ? 1 : weight;
}

}  // namespace onnx_tag::sizes
