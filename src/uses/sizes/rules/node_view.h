// What a rule sees of its node, and what rules share.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "core/graph/operators.h"
#include "file/model/element_types.h"
#include "uses/sizes/attributes.h"
#include "uses/sizes/numbers.h"
#include "uses/sizes/value_facts.h"

namespace onnx_tag::sizes {

// A tensor so small that its numbers are known, and what moving them gives.
struct Small {
  Ints dims;
  std::vector<Number> elements;
};

// How many elements a tensor has; nothing where that is more than
// kMostElements, or a dimension is negative.
std::optional<std::size_t> SmallCount(const Ints& dims);

// The tensor with these dimensions whose element at each place is the one of
// `from` that `place(index)` says. `index` is changed by `place` as it likes.
// Nothing where there are too many.
template <typename Place>
std::optional<Small> Picked(const Small& from, const Ints& dims, Place place) {
  const auto count = SmallCount(dims);
  if (!count) return std::nullopt;
  Small picked{dims, {}};
  Ints index(dims.size(), 0);
  for (std::size_t i = 0; i < *count; ++i) {
    Ints source = index;
    place(source);
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < from.dims.size(); ++axis) {
      if (source[axis] < 0 || source[axis] >= from.dims[axis]) {
        return std::nullopt;
      }
      at = at * from.dims[axis] + source[axis];
    }
    picked.elements.push_back(from.elements[static_cast<std::size_t>(at)]);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
  return picked;
}

// A tensor of this shape whose numbers are not known; nothing where it is too
// large, or `shape` is null.
std::optional<Small> SmallOf(const Shape* shape);

// The dimensions as numbers; nothing if one has none.
std::optional<Ints> PlainDims(const Shape& shape);
// 0, 1, ...: all axes, or the first ones.
Ints FirstAxes(std::size_t count);
// By axis, whether it is among `axes`; nothing if one is outside.
std::optional<std::vector<bool>> Marked(const Ints& axes, std::size_t rank);

// What two shapes have in common; nothing if not even the rank.
std::optional<Shape> Common(const std::optional<Shape>& a,
                            const std::optional<Shape>& b);

// Repeated to these dimensions, as Expand does it.
std::optional<Small> Repeated(const Small& from, const Ints& dims);

using Sizes = std::vector<Dim>;

// A dimension, counted from the end if `axis` is negative; unknown where the
// shape or the axis is.
Dim SizeIn(const Shape* shape, std::int64_t axis);

class NodeView {
 public:
  NodeView(const Model& model, ValueFacts& facts, NodeId node, Op op,
           const Call* call)
      : model_(model),
        facts_(facts),
        node_(node),
        op_(op),
        attributes_(model.NodeBytes(node), call) {}

  Op op() const { return op_; }
  const Operator& row() const { return Describe(op_); }
  // The position of the weight; of quantized operators it is not the second.
  std::size_t WeightInput() const;
  const Attributes& attributes() const { return attributes_; }
  std::int64_t Int(std::string_view name, std::int64_t otherwise = 0) const {
    return attributes_.Int(name, otherwise);
  }
  bool Flag(std::string_view name, bool otherwise = false) const {
    return Int(name, otherwise ? 1 : 0) != 0;
  }
  Formulas& formulas() const { return facts_.formulas(); }
  std::size_t inputs() const { return model_.Inputs(node_).size(); }
  std::size_t outputs() const { return model_.Outputs(node_).size(); }
  bool Has(std::size_t i) const { return InputAt(i) != kNo<ValueId>; }
  bool HasOutput(std::size_t i) const {
    const auto outputs = model_.Outputs(node_);
    return i < outputs.size() && outputs[i] != kNo<ValueId>;
  }
  // Null where the input is left out or nothing is known of it.
  const Shape* Input(std::size_t i) const { return ShapeOf(InputAt(i)); }
  const Shape* Output(std::size_t i) const {
    return HasOutput(i) ? ShapeOf(model_.Outputs(node_)[i]) : nullptr;
  }
  std::int32_t InputType(std::size_t i) const {
    return facts_[InputAt(i)].type;
  }
  // All but its numbers.
  Fact InputFact(std::size_t i) const {
    Fact fact = facts_[InputAt(i)];
    fact.numbers.reset();
    return fact;
  }
  Dim Size(std::size_t i, std::int64_t axis) const {
    return SizeIn(Input(i), axis);
  }
  const Numbers* InputNumbers(std::size_t i) const {
    const std::optional<Numbers>& numbers = facts_[InputAt(i)].numbers;
    return numbers ? &*numbers : nullptr;
  }
  const Sequence* InputSequence(std::size_t i) const {
    return facts_[InputAt(i)].sequence.get();
  }
  // The numbers of an input with their places.
  std::optional<Small> SmallInput(std::size_t i) const;
  // The numbers of an input as sizes; unknown where one is no whole number.
  std::optional<Sizes> InputSizes(std::size_t i) const;
  // The only number of an input; unknown if there is none.
  Number InputNumber(std::size_t i) const;
  Dim InputSize(std::size_t i) const { return InputNumber(i).whole(); }
  // An attribute of older operator sets, an input of newer ones; all of them
  // must be plain numbers.
  std::optional<Ints> IntList(std::string_view name, std::size_t input) const;
  // The same with formulas.
  std::optional<Sizes> SizeList(std::string_view name, std::size_t input) const;
  // How many numbers an input has; also where they are not known.
  std::optional<std::size_t> Count(std::size_t input) const;

  // A dimension that depends on data: the same one each time this is asked.
  Dim Own(std::size_t slot, std::size_t axis) const {
    return facts_.OwnDim(node_, slot, axis);
  }
  Dim OwnIfUnknown(Dim dim, std::size_t axis, std::size_t slot = 0) const {
    return dim.known() ? dim : Own(slot, axis);
  }
  Shape OwnShape(std::size_t rank, std::size_t slot = 0) const {
    Shape shape;
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(Own(slot, i));
    return shape;
  }
  // Gives dimensions that are not known names of their own.
  void NameUnknown(Shape& shape, std::size_t slot = 0) const {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      shape[i] = OwnIfUnknown(shape[i], i, slot);
    }
  }
  // The same size or 1; notes what must be equal.
  Dim BroadcastDim(Dim a, Dim b) const;
  // Two names of one size: the one that says more.
  Dim SameDim(Dim a, Dim b) const;
  // As Add has it; nothing where they do not fit.
  std::optional<Shape> Broadcast(const Shape& a, const Shape& b) const;
  Dim Product(std::span<const Dim> dims) const {
    return formulas().ProductOf(dims);
  }

 private:
  ValueId InputAt(std::size_t i) const {
    const auto inputs = model_.Inputs(node_);
    return i < inputs.size() ? inputs[i] : kNo<ValueId>;
  }
  const Shape* ShapeOf(ValueId value) const {
    const std::optional<Shape>& shape = facts_[value].shape;
    return shape ? &*shape : nullptr;
  }

  const Model& model_;
  ValueFacts& facts_;
  NodeId node_;
  Op op_;
  Attributes attributes_;
};

inline Facts Gives(Shape shape) {
  Facts facts(1);
  facts[0].shape = std::move(shape);
  return facts;
}

// The same shape with another last dimension.
inline Facts GivesLast(Shape shape, Dim last) {
  shape.back() = last;
  return Gives(std::move(shape));
}

// The same with numbers, which a small tensor has.
inline Facts Gives(Shape shape, std::optional<Small> numbers) {
  Facts facts = Gives(std::move(shape));
  if (numbers) facts[0].numbers = NumbersOf(std::move(numbers->elements));
  return facts;
}

// A tensor with this shape of elements of `from`, as Picked() has them.
template <typename Place>
Facts GivesPicked(Shape shape, const std::optional<Small>& from, Place place) {
  const auto dims = from ? PlainDims(shape) : std::nullopt;
  if (!dims) return Gives(std::move(shape));
  return Gives(std::move(shape), Picked(*from, *dims, place));
}

// Only the number of dimensions is known, or not even that.
inline Facts GivesRank(std::size_t rank) {
  return rank <= kMostRank ? Gives(Shape(rank)) : Facts();
}

// Names of its own for a rank that is known.
inline Facts GivesOwn(const NodeView& node, std::optional<std::size_t> rank) {
  return rank && *rank <= kMostRank ? Gives(node.OwnShape(*rank)) : Facts();
}

// The same, less as many as the second input has numbers.
inline Facts GivesWithout(const NodeView& node, std::size_t rank) {
  const auto count = node.Count(1);
  return count && *count <= rank ? GivesOwn(node, rank - *count) : Facts();
}

// A negative axis counts from the end; nothing where it is outside.
inline std::optional<std::size_t> Axis(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

// `shape` and more dimensions behind it.
template <typename List>
Shape With(Shape shape, const List& more) {
  shape.insert(shape.end(), more.begin(), more.end());
  return shape;
}

inline Shape::const_iterator At(const Shape& shape, std::size_t axis) {
  return shape.begin() + static_cast<std::ptrdiff_t>(axis);
}

}  // namespace onnx_tag::sizes
