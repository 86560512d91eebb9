#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Facts GivesSequence(Sequence sequence, std::int32_t type) {
  return {{.type = type,
           .sequence = std::make_shared<Sequence>(std::move(sequence))}};
}

// A sequence of these tensors, all known.
Sequence SequenceOf(std::vector<Shape> items) {
  Sequence sequence;
  sequence.length = static_cast<std::int64_t>(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    sequence.element =
        i == 0 ? std::optional(items[0]) : Common(sequence.element, items[i]);
  }
  sequence.items = std::move(items);
  return sequence;
}

// A position in `sequence` from its begin; -1 if it is not known, or not one of
// `count` places.
std::int64_t PositionIn(const Sequence& sequence, Dim position,
                        std::int64_t count) {
  if (!position.IsNumber()) return -1;
  const auto size = static_cast<std::int64_t>(sequence.items.size());
  const std::int64_t at = position.number();
  const std::int64_t from_begin = at < 0 ? at + size : at;
  return from_begin < count ? from_begin : -1;
}

}  // namespace

namespace shape {

Facts Construct(const NodeView& node) {
  std::vector<Shape> items;
  for (std::size_t i = 0; i < node.inputs() && node.Input(i) != nullptr; ++i) {
    items.push_back(*node.Input(i));
  }
  const bool known =
      items.size() == node.inputs() && items.size() <= kMostItems;
  return GivesSequence(
      known ? SequenceOf(std::move(items))
            : Sequence{.element = {},
                       .length = static_cast<std::int64_t>(node.inputs()),
                       .items = {}},
      node.InputType(0));
}

Facts SplitTo(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const std::int32_t type = node.InputType(0);
  if (data == nullptr) return GivesSequence({}, type);
  const auto axis = Axis(node.Int("axis"), data->size());
  if (!axis) return GivesSequence({}, type);
  Formulas& formulas = node.formulas();
  const Dim size = (*data)[*axis];
  Shape element = *data;
  Sequence sequence;
  if (!node.Has(1)) {
    // One by one; the axis goes away unless `keepdims`.
    element[*axis] = 1;
    if (!node.Flag("keepdims", true)) element.erase(At(element, *axis));
    sequence.element = std::move(element);
    sequence.length = size;
    return GivesSequence(std::move(sequence), type);
  }
  const Shape* const split = node.Input(1);
  const auto parts = node.InputSizes(1);
  if (parts && split != nullptr && split->size() == 1) {
    std::vector<Shape> items;
    for (const Dim part : *parts) {
      element[*axis] = part;
      items.push_back(element);
    }
    return GivesSequence(SequenceOf(std::move(items)), type);
  }
  if (parts && split != nullptr && parts->size() == 1) {
    const Dim chunk = (*parts)[0];
    element[*axis] =
        formulas.Quotient(size, chunk).known() ? chunk : kUnknownDim;
    sequence.length = formulas.Ceil(size, chunk);
    if (sequence.length.IsNumber() && chunk.IsNumber() && chunk.number() > 0 &&
        sequence.length.number() > 0 && sequence.length.number() <= 64) {
      std::vector<Shape> items;
      Dim left = size;
      for (std::int64_t i = 0; i < sequence.length.number(); ++i) {
        element[*axis] = formulas.Min(left, chunk);
        left = formulas.Minus(left, chunk);
        items.push_back(element);
      }
      return GivesSequence(SequenceOf(std::move(items)), type);
    }
  } else {
    element[*axis] = kUnknownDim;
    if (split != nullptr && split->size() == 1) sequence.length = (*split)[0];
  }
  sequence.element = std::move(element);
  return GivesSequence(std::move(sequence), type);
}

Facts ItemAt(const NodeView& node) {
  Facts facts = {{.type = node.InputType(0)}};
  const Sequence* const sequence = node.InputSequence(0);
  if (sequence == nullptr) return facts;
  const auto size = static_cast<std::int64_t>(sequence->items.size());
  const std::int64_t at = PositionIn(*sequence, node.InputSize(1), size);
  if (at >= 0) {
    facts[0].shape = sequence->items[static_cast<std::size_t>(at)];
    return facts;
  }
  facts[0].shape = sequence->element;
  if (facts[0].shape) node.NameUnknown(*facts[0].shape);
  return facts;
}

Facts Changed(const NodeView& node) {
  const bool insert = node.op() == Op::kSequenceInsert;
  const Sequence* const before = node.InputSequence(0);
  const std::int32_t type =
      node.InputType(0) != 0 ? node.InputType(0) : node.InputType(1);
  if (before == nullptr) return GivesSequence({}, type);
  const auto size = static_cast<std::int64_t>(before->items.size());
  const Shape* const item = insert ? node.Input(1) : nullptr;
  const std::size_t position = insert ? 2 : 1;
  const std::int64_t places = insert ? size + 1 : size;
  const std::int64_t at =
      node.Has(position) ? PositionIn(*before, node.InputSize(position), places)
                         : places - 1;
  if (before->length.Is(size) && before->items.size() < kMostItems &&
      (!insert || item != nullptr) && at >= 0) {
    std::vector<Shape> items = before->items;
    if (insert) {
      items.insert(items.begin() + at, *item);
    } else {
      items.erase(items.begin() + at);
    }
    return GivesSequence(SequenceOf(std::move(items)), type);
  }
  Sequence sequence{
      .element = before->element,
      .length = node.formulas().Plus(before->length, Dim(insert ? 1 : -1)),
      .items = {}};
  if (insert) {
    const std::optional<Shape> added = node.InputFact(1).shape;
    sequence.element =
        before->length.Is(0) ? added : Common(before->element, added);
  }
  return GivesSequence(std::move(sequence), type);
}

Facts EmptySequence(const NodeView& node) {
  return GivesSequence(SequenceOf({}),
                       static_cast<std::int32_t>(node.Int("dtype", kFloat)));
}

// Optional, OptionalGetElement: what they hold.
Facts Held(const NodeView& node) { return {node.InputFact(0)}; }

Facts ConcatFromSequence(const NodeView& node) {
  const Sequence* const sequence = node.InputSequence(0);
  const bool stack = node.Flag("new_axis");
  if (sequence == nullptr || !sequence->element) return {};
  Shape shape = *sequence->element;
  const auto axis = Axis(node.Int("axis"), shape.size() + (stack ? 1 : 0));
  if (!axis) return {};
  Formulas& formulas = node.formulas();
  if (stack) {
    shape.insert(At(shape, *axis), sequence->length);
  } else if (!sequence->items.empty()) {
    Dim sum = 0;
    for (const Shape& item : sequence->items) {
      sum = formulas.Plus(sum, item[*axis]);
    }
    shape[*axis] = sum;
  } else {
    shape[*axis] = formulas.Times(shape[*axis], sequence->length);
  }
  node.NameUnknown(shape);
  return Gives(std::move(shape));
}

Facts SequenceLength(const NodeView& node) {
  Facts facts = Gives({});
  const Sequence* const sequence = node.InputSequence(0);
  if (sequence != nullptr && sequence->length.known()) {
    facts[0].numbers = OneNumber({sequence->length});
  }
  return facts;
}

}  // namespace shape
}  // namespace onnx_tag::sizes
