#include <algorithm>

#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

// With the numbers of the first input, whose order stays.
Facts Reordered(const NodeView& node, Shape shape) {
  Facts facts = Gives(std::move(shape));
  if (const Numbers* const numbers = node.InputNumbers(0)) {
    facts[0].numbers = *numbers;
  }
  return facts;
}

// The size that makes `known` as large as `data`. Sizes that both have are
// left out first: they may be unknown, or have many terms.
Dim Remaining(const NodeView& node, const Shape& data, const Sizes& known) {
  Formulas& formulas = node.formulas();
  Shape over = data;
  Dim under = 1;
  for (const Dim size : known) {
    const auto same = std::find(over.begin(), over.end(), size);
    if (size.known() && same != over.end()) {
      over.erase(same);
    } else {
      under = formulas.Times(under, size);
    }
  }
  const Dim all = node.Product(over);
  const Dim exact = formulas.Quotient(all, under);
  return exact.known() ? exact : formulas.Floor(all, under);
}

std::optional<Small> Joined(const NodeView& node, const Shape& shape,
                            std::size_t axis) {
  auto joined = SmallOf(&shape);
  if (!joined) return std::nullopt;
  std::vector<Small> parts;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    auto part = node.SmallInput(i);
    // Of a part that is not known, only its size counts.
    if (!part) part = SmallOf(node.Input(i));
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) {
    outer *= static_cast<std::size_t>(joined->dims[i]);
  }
  std::vector<Number> elements;
  for (std::size_t block = 0; block < outer; ++block) {
    for (const Small& part : parts) {
      const std::size_t size = part.elements.size() / outer;
      const auto first =
          part.elements.begin() + static_cast<std::ptrdiff_t>(block * size);
      elements.insert(elements.end(), first,
                      first + static_cast<std::ptrdiff_t>(size));
    }
  }
  if (joined->elements.size() != elements.size()) return std::nullopt;
  joined->elements = std::move(elements);
  return joined;
}

}  // namespace

namespace shape {

Facts Reshape(const NodeView& node) {
  const auto wanted = node.SizeList("shape", 1);
  const Shape* const data = node.Input(0);
  if (!wanted) return GivesOwn(node, node.Count(1));
  if (wanted->size() > kMostRank) return {};
  Shape shape = *wanted;
  const bool keeps = node.Int("allowzero") == 0;
  std::vector<std::size_t> open;  // what the others leave
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool copies = shape[i].Is(0) && keeps;
    // A zero where the input has no dimension: a number that was removed with
    // the weights.
    const bool lost = copies && data != nullptr && i >= data->size();
    if (copies && !lost) {
      shape[i] = data != nullptr ? (*data)[i] : kUnknownDim;
    } else if (!shape[i].known() || shape[i].Is(-1) || lost) {
      shape[i] = kUnknownDim;
      open.push_back(i);
    }
  }
  if (open.size() == 1 && data != nullptr) {
    Sizes others = shape;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(open[0]));
    shape[open[0]] = Remaining(node, *data, others);
  } else {
    for (const std::size_t i : open) {
      if (open.size() > 1) shape[i] = node.Own(0, i);
    }
  }
  return Reordered(node, std::move(shape));
}

Facts Transpose(const NodeView& node, const Shape& data) {
  const std::size_t rank = data.size();
  Ints order = FirstAxes(rank);
  std::reverse(order.begin(), order.end());
  if (auto given = node.attributes().IntList("perm")) order = std::move(*given);
  if (order.size() != rank) return {};
  Shape shape;
  std::vector<std::size_t> from;
  for (const std::int64_t one : order) {
    const auto axis = Axis(one, rank);
    if (!axis) return {};
    from.push_back(*axis);
    shape.push_back(data[*axis]);
  }
  return GivesPicked(std::move(shape), node.SmallInput(0), [&](Ints& index) {
    Ints source(rank);
    for (std::size_t i = 0; i < rank; ++i) source[from[i]] = index[i];
    index = std::move(source);
  });
}

Facts Flatten(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return GivesRank(2);
  std::int64_t split = node.Int("axis", 1);
  if (split < 0) split += static_cast<std::int64_t>(data->size());
  Shape shape = {1, 1};
  for (std::size_t i = 0; i < data->size(); ++i) {
    Dim& side = shape[static_cast<std::int64_t>(i) < split ? 0 : 1];
    side = node.formulas().Times(side, (*data)[i]);
  }
  return Reordered(node, std::move(shape));
}

Facts Squeeze(const NodeView& node, const Shape& data) {
  const auto axes = node.IntList("axes", 1);
  const auto drop = Marked(axes.value_or(Ints()), data.size());
  if (!drop) return {};
  if (!axes && node.Has(1)) {
    return GivesWithout(node, data.size());
  }
  Shape shape;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Dim dim = data[i];
    // A dimension with a name may be 1, too; that changes the rank.
    if (!axes && !dim.IsNumber()) return {};
    if (axes ? !(*drop)[i] : !dim.Is(1)) shape.push_back(dim);
  }
  return Reordered(node, std::move(shape));
}

Facts Unsqueeze(const NodeView& node, const Shape& data) {
  const auto axes = node.IntList("axes", 1);
  if (!axes) {
    const auto count = node.Count(1);
    return count ? GivesOwn(node, data.size() + *count) : Facts();
  }
  const std::size_t rank = data.size() + axes->size();
  if (rank > kMostRank) return {};
  const auto added = Marked(*axes, rank);
  if (!added) return {};
  Shape shape;
  std::size_t next = 0;
  for (const bool is_new : *added) {
    if (!is_new && next >= data.size()) return {};
    shape.push_back(is_new ? Dim(1) : data[next++]);
  }
  return Reordered(node, std::move(shape));
}

Facts Concat(const NodeView& node) {
  const Shape* first = nullptr;
  for (std::size_t i = 0; i < node.inputs() && first == nullptr; ++i) {
    first = node.Input(i);
  }
  if (first == nullptr) return {};
  // The first operator sets had a default, which lists do not have.
  const std::int64_t otherwise = first->size() > 1 ? 1 : 0;
  const auto axis = Axis(node.Int("axis", otherwise), first->size());
  if (!axis) return {};
  Shape shape = *first;
  shape[*axis] = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Shape* const part = node.Input(i);
    if (part == nullptr) {
      shape[*axis] = kUnknownDim;
      continue;
    }
    if (part->size() != shape.size()) return {};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      shape[d] = d == *axis ? node.formulas().Plus(shape[d], (*part)[d])
                            : node.SameDim(shape[d], (*part)[d]);
    }
  }
  auto numbers = Joined(node, shape, *axis);
  return Gives(std::move(shape), std::move(numbers));
}

// Scale and zero point, then tensor, scale and zero point of each part.
Facts QuantizedConcat(const NodeView& node, const Shape& first) {
  const auto axis = Axis(node.Int("axis", 1), first.size());
  if (!axis) return {};
  Shape shape = first;
  for (std::size_t i = 5; i < node.inputs(); i += 3) {
    const Shape* const part = node.Input(i);
    if (part == nullptr || part->size() != shape.size()) return {};
    shape[*axis] = node.formulas().Plus(shape[*axis], (*part)[*axis]);
  }
  return Gives(std::move(shape));
}

Facts Split(const NodeView& node, const Shape& data) {
  const auto axis = Axis(node.Int("axis"), data.size());
  if (!axis) return {};
  Formulas& formulas = node.formulas();
  const auto parts = node.SizeList("split", 1);
  const auto small = node.SmallInput(0);
  const auto count = static_cast<std::int64_t>(node.outputs());
  const Dim size = data[*axis];
  // All but the last are as large as the first.
  const Dim chunk = formulas.Ceil(size, count);
  Dim before = 0;
  Facts facts;
  for (std::size_t i = 0; i < node.outputs(); ++i) {
    Shape shape = data;
    Dim& part = shape[*axis];
    if (parts && i < parts->size()) {
      part = (*parts)[i];
    } else if (!parts && !node.Has(1)) {
      const Dim left = formulas.Minus(
          size, formulas.Times(chunk, static_cast<std::int64_t>(i)));
      part = formulas.Quotient(size, count).known()
                 ? chunk
                 : formulas.Max(formulas.Min(left, chunk), 0);
    } else {
      part = kUnknownDim;
    }
    part = node.OwnIfUnknown(part, *axis, i);
    const Dim begin = before;
    before = formulas.Plus(before, part);
    Facts one =
        GivesPicked(std::move(shape), begin.IsNumber() ? small : std::nullopt,
                    [&](Ints& index) { index[*axis] += begin.number(); });
    one[0].type = node.InputType(0);
    facts.push_back(std::move(one[0]));
  }
  return facts;
}

Facts Expand(const NodeView& node, const Shape& data) {
  const auto wanted = node.InputSizes(1);
  if (!wanted) {
    const auto count = node.Count(1);
    return count ? GivesOwn(node, std::max(data.size(), *count)) : Facts();
  }
  if (wanted->size() > kMostRank) return {};
  auto shape = node.Broadcast(data, *wanted);
  if (!shape) return {};
  node.NameUnknown(*shape);
  Facts facts = Gives(std::move(*shape));
  const Numbers* const numbers = node.InputNumbers(0);
  if (numbers == nullptr) return facts;
  if (numbers->elements.size() == 1) {
    facts[0].numbers = Numbers{numbers->elements, true};
  } else if (const auto dims = PlainDims(*facts[0].shape)) {
    const auto small = node.SmallInput(0);
    const auto repeated = small ? Repeated(*small, *dims) : std::nullopt;
    if (repeated) facts[0].numbers = NumbersOf(repeated->elements);
  }
  return facts;
}

Facts Tile(const NodeView& node, const Shape& data) {
  const auto repeats = node.InputSizes(1);
  if (!repeats || repeats->size() != data.size()) {
    return GivesOwn(node, data.size());
  }
  Shape shape = data;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = node.formulas().Times(shape[i], (*repeats)[i]);
  }
  node.NameUnknown(shape);
  const auto small = node.SmallInput(0);
  return GivesPicked(std::move(shape), small, [&](Ints& index) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (small->dims[i] > 0) index[i] %= small->dims[i];
    }
  });
}

Facts Pad(const NodeView& node, const Shape& data) {
  auto pads = node.SizeList("pads", 1);
  // Of the first operator set.
  if (!pads) pads = node.SizeList("paddings", 1);
  const auto axes = node.Has(3) ? node.IntList("axes", 3)
                                : std::optional(FirstAxes(data.size()));
  Shape shape = data;
  if (!pads || !axes || pads->size() != 2 * axes->size()) {
    return GivesOwn(node, data.size());
  }
  Formulas& formulas = node.formulas();
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = Axis((*axes)[i], shape.size());
    if (!axis) return {};
    const Dim more = formulas.Plus((*pads)[i], (*pads)[i + axes->size()]);
    Dim& size = shape[*axis];
    size = node.OwnIfUnknown(formulas.Plus(size, more), *axis);
  }
  return Gives(std::move(shape));
}

}  // namespace shape
}  // namespace onnx_tag::sizes
