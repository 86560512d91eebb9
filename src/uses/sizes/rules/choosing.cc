#include <algorithm>

#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

// Exporters write the largest number of some type for "to the end".
constexpr std::int64_t kEnd = (std::int64_t{1} << 31) - 1;

// A position counted from the begin. A formula that may be of either sign is
// taken for positive: what is subtracted from a size is smaller.
Dim FromBegin(Formulas& formulas, Dim at, Dim size) {
  const bool negative = at.IsNumber()
                            ? at.number() < 0
                            : formulas.IsAtLeast(formulas.Times(at, -1), 1);
  return negative ? formulas.Max(formulas.Plus(at, size), 0) : at;
}

struct Taken {
  Dim count;
  Dim first;  // its position; unknown if it is not known
};

// What start:end:step takes of `size`.
Taken TakenBy(Formulas& formulas, Dim size, Dim start, Dim end,
              std::int64_t step) {
  if (step == 0 || !start.known() || !end.known() || !size.known()) return {};
  if (step > 0) {
    const bool to_end = end.IsNumber() && end.number() >= kEnd;
    const Dim first = formulas.Min(FromBegin(formulas, start, size), size);
    const Dim last =
        to_end ? size : formulas.Min(FromBegin(formulas, end, size), size);
    const Dim room = formulas.Max(formulas.Minus(last, first), 0);
    return {formulas.Ceil(room, step), first};
  }
  // Backwards: from the end, or from a position, to before the begin.
  const Dim top = formulas.Minus(size, 1);
  const bool from_end = start.IsNumber() && start.number() >= kEnd;
  Dim first = top;
  if (!from_end) {
    first = start.IsNumber() && start.number() < 0 ? formulas.Plus(start, size)
                                                   : formulas.Min(start, top);
  }
  Dim last;
  if (end.IsNumber() && end.number() <= -kEnd) {
    last = -1;
  } else if (end.IsNumber() && end.number() < 0) {
    last = formulas.Max(formulas.Plus(end, size), -1);
  } else {
    last = formulas.Min(end, top);
  }
  const Dim room = formulas.Max(formulas.Minus(first, last), 0);
  return {formulas.Ceil(room, -step), first};
}

// `shape` with these dimensions instead of an axis.
Shape Replaced(Shape shape, std::size_t axis, const Shape& dims) {
  shape.insert(shape.erase(At(shape, axis)), dims.begin(), dims.end());
  return shape;
}

}  // namespace

namespace shape {

Facts Slice(const NodeView& node, const Shape& data) {
  const auto starts = node.SizeList("starts", 1);
  const auto ends = node.SizeList("ends", 2);
  auto axes = node.IntList("axes", 3);
  const auto steps = node.IntList("steps", 4);
  Shape shape = data;
  if (!axes && node.Has(3)) return GivesOwn(node, shape.size());
  if (!axes) {
    const std::size_t count = starts ? starts->size() : shape.size();
    axes = FirstAxes(std::min(count, shape.size()));
  }
  Ints firsts(shape.size(), 0);
  Ints strides(shape.size(), 1);
  bool plain = true;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = Axis((*axes)[i], shape.size());
    if (!axis) return {};
    const bool known = starts && ends && i < starts->size() &&
                       i < ends->size() && (steps || !node.Has(4));
    const std::int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
    Dim& size = shape[*axis];
    const Taken taken =
        known ? TakenBy(node.formulas(), size, (*starts)[i], (*ends)[i], step)
              : Taken();
    size = node.OwnIfUnknown(taken.count, *axis);
    plain = plain && taken.first.IsNumber() && size.IsNumber();
    firsts[*axis] = taken.first.number();
    strides[*axis] = step;
  }
  return GivesPicked(std::move(shape),
                     plain ? node.SmallInput(0) : std::nullopt,
                     [&](Ints& index) {
                       for (std::size_t i = 0; i < index.size(); ++i) {
                         index[i] = firsts[i] + index[i] * strides[i];
                       }
                     });
}

Facts Gather(const NodeView& node, const Shape& data, const Shape& indices) {
  const auto axis = Axis(node.Int("axis"), data.size());
  if (!axis || data.size() + indices.size() > kMostRank) return {};
  const auto small = node.SmallInput(0);
  const auto which = small ? node.SmallInput(1) : std::nullopt;
  const std::size_t rank = indices.size();
  return GivesPicked(
      Replaced(data, *axis, indices), which ? small : std::nullopt,
      [&](Ints& index) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < rank; ++i) {
          place = place * which->dims[i] + index[*axis + i];
        }
        const Dim chosen =
            which->elements[static_cast<std::size_t>(place)].whole();
        std::int64_t from = chosen.IsNumber() ? chosen.number() : -1 << 20;
        if (from < 0) from += small->dims[*axis];
        const auto at = index.begin() + static_cast<std::ptrdiff_t>(*axis);
        index.erase(at, at + static_cast<std::ptrdiff_t>(rank));
        index.insert(at, from);
      });
}

Facts GatherNd(const NodeView& node, const Shape& data, const Shape& indices) {
  if (indices.empty()) return {};
  const Dim depth = indices.back();
  const std::int64_t batch = node.Int("batch_dims");
  if (!depth.IsNumber() || depth.number() < 0 || batch < 0 ||
      batch > static_cast<std::int64_t>(data.size()) ||
      depth.number() > static_cast<std::int64_t>(data.size()) - batch) {
    return {};
  }
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth.number(), data.end());
  return shape.size() > kMostRank ? Facts() : Gives(std::move(shape));
}

// com.microsoft: a table whose rows hold numbers of few bits, several in a
// byte if the type says uint8.
Facts GatherBlocks(const NodeView& node, const Shape& data,
                   const Shape& indices) {
  const auto axis = Axis(node.Int("gather_axis"), data.size());
  if (!axis || data.size() + indices.size() > kMostRank) return {};
  const std::int64_t bits = node.Int("bits", 4);
  Shape table = data;
  if (node.InputType(0) == kUint8 && bits > 0 && bits < 8) {
    table.back() = node.formulas().Times(table.back(), 8 / bits);
  }
  return Gives(Replaced(table, *axis, indices));
}

Facts Plain(const NodeView&, const Shape& shape) { return Gives(shape); }

Facts TopK(const NodeView& node, const Shape& data) {
  const auto axis = Axis(node.Int("axis", -1), data.size());
  if (!axis) return {};
  Shape shape = data;
  shape[*axis] = node.attributes().Has("k")
                     ? Dim(node.Int("k"))
                     : node.OwnIfUnknown(node.InputSize(1), *axis);
  return {{.shape = shape}, {.shape = shape, .type = kInt64}};
}

Facts OneHot(const NodeView& node, const Shape& indices) {
  const auto axis = Axis(node.Int("axis", -1), indices.size() + 1);
  if (!axis) return {};
  const Dim depth = node.OwnIfUnknown(node.InputSize(1), *axis);
  Shape shape = indices;
  shape.insert(At(shape, *axis), depth);
  Facts facts = Gives(std::move(shape));
  // Exporters make a list with one number in its place.
  const Dim place = node.InputSize(0);
  const auto values = node.SmallInput(2);
  if (place.IsNumber() && depth.IsNumber() && depth.number() > 0 &&
      depth.number() <= static_cast<std::int64_t>(kMostElements) && values &&
      values->elements.size() == 2) {
    const std::int64_t count = depth.number();
    std::vector<Number> list(static_cast<std::size_t>(count),
                             values->elements[0]);
    const std::int64_t at = place.number() + (place.number() < 0 ? count : 0);
    if (at >= 0 && at < count) {
      list[static_cast<std::size_t>(at)] = values->elements[1];
    }
    facts[0].numbers = NumbersOf(std::move(list));
  }
  return facts;
}

Facts Compress(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (!node.attributes().Has("axis")) return Gives({node.Own(0, 0)});
  if (data == nullptr) return {};
  const auto axis = Axis(node.Int("axis"), data->size());
  if (!axis) return {};
  Shape shape = *data;
  shape[*axis] = node.Own(0, *axis);
  return Gives(std::move(shape));
}

// A row for each axis.
Facts NonZero(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return Gives({kUnknownDim, node.Own(0, 1)});
  const auto rank = static_cast<std::int64_t>(data->size());
  // Old exporters count with the places of ones.
  const Numbers* const numbers = node.InputNumbers(0);
  if (numbers == nullptr) return Gives({rank, node.Own(0, 1)});
  bool known = true;
  std::int64_t count = 0;
  for (const Number& number : numbers->elements) {
    known = known && number.over.IsNumber();
    count += number.over.Is(0) ? 0 : 1;
  }
  const Dim found = !known                          ? kUnknownDim
                    : numbers->uniform && count > 0 ? node.Product(*data)
                                                    : Dim(count);
  return Gives({rank, node.OwnIfUnknown(found, 1)});
}

// NonMaxSuppression: three numbers for each box.
Facts Boxes(const NodeView& node) { return Gives({node.Own(0, 0), 3}); }

Facts Unique(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Dim count = node.Own(0, 0);
  Shape values = {count};
  Dim inverse;
  if (data != nullptr && node.attributes().Has("axis")) {
    const auto axis = Axis(node.Int("axis"), data->size());
    if (!axis) return {};
    values = *data;
    inverse = values[*axis];
    values[*axis] = count;
  } else if (data != nullptr) {
    inverse = node.Product(*data);
  }
  return {{.shape = std::move(values)},
          {.shape = Shape{count}, .type = kInt64},
          {.shape = Shape{inverse}, .type = kInt64},
          {.shape = Shape{count}, .type = kInt64}};
}

}  // namespace shape
}  // namespace onnx_tag::sizes
