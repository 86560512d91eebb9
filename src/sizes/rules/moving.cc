#include <algorithm>

#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

// How many elements start:end:step takes of `size`.
std::int64_t SliceSize(std::int64_t size, std::int64_t start, std::int64_t end,
                       std::int64_t step) {
  if (size == kUnknownDim || step == 0) return kUnknownDim;
  if (size == 0) return 0;
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    return end > start ? (end - start + step - 1) / step : 0;
  }
  start = std::clamp<std::int64_t>(start, 0, size - 1);
  end = std::clamp<std::int64_t>(end, -1, size - 1);
  return start > end ? (start - end - step - 1) / -step : 0;
}

}  // namespace

Inferred Reshaping(const NodeView& node) {
  auto wanted = node.attributes().Ints("shape");
  if (!wanted) wanted = node.Sizes(1);
  const Shape* const data = node.Input(0);
  if (!wanted) return GivesRank(node.Count("", 1));
  Shape shape = *wanted;
  if (shape.size() > kMostRank) return {};
  const bool keeps = node.attributes().Int("allowzero", 0) == 0;
  std::optional<std::size_t> open;  // the one that the others leave
  int unknown = 0;
  double known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && keeps) {
      shape[i] = data != nullptr && i < data->size() ? (*data)[i] : kUnknownDim;
    } else if (shape[i] < 0) {
      shape[i] = kUnknownDim;
    }
    if (shape[i] == kUnknownDim) {
      ++unknown;
      open = i;
    } else {
      known *= static_cast<double>(shape[i]);
    }
  }
  if (unknown == 1 && data != nullptr && known > 0) {
    double elements = 1;
    for (const std::int64_t dim : *data) {
      elements = dim == kUnknownDim ? -1 : elements * static_cast<double>(dim);
      if (elements < 0) break;
    }
    if (elements >= 0 && elements / known <= static_cast<double>(kMostDim)) {
      shape[*open] = static_cast<std::int64_t>(elements / known);
    }
  }
  Inferred inferred = Gives(std::move(shape));
  if (const Numbers* const numbers = node.InputNumbers(0)) {
    inferred.numbers = *numbers;
  }
  return inferred;
}

Inferred Transposing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto order = node.attributes().Ints("perm");
  Shape shape;
  for (std::size_t i = 0; i < data->size(); ++i) {
    if (!order) {
      shape.push_back((*data)[data->size() - 1 - i]);
      continue;
    }
    if (i >= order->size()) return {};
    const auto axis = Axis((*order)[i], data->size());
    if (!axis) return {};
    shape.push_back((*data)[*axis]);
  }
  return Gives(std::move(shape));
}

Inferred Flattening(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return GivesRank(2);
  std::int64_t split = node.attributes().Int("axis", 1);
  if (split < 0) split += static_cast<std::int64_t>(data->size());
  Shape shape = {1, 1};
  for (std::size_t i = 0; i < data->size(); ++i) {
    std::int64_t& side = shape[static_cast<std::int64_t>(i) < split ? 0 : 1];
    side = side == kUnknownDim || side > kMostDim || (*data)[i] == kUnknownDim
               ? kUnknownDim
               : side * (*data)[i];
  }
  return Gives(std::move(shape));
}

Inferred Squeezing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto axes = node.Ints("axes", 1);
  std::vector<bool> drop(data->size());
  if (axes) {
    for (const std::int64_t one : *axes) {
      const auto axis = Axis(one, data->size());
      if (!axis) return {};
      drop[*axis] = true;
    }
  } else if (node.Has(1)) {
    const auto count = node.Count("axes", 1);
    return count && *count <= data->size() ? GivesRank(data->size() - *count)
                                           : Inferred();
  } else {
    for (std::size_t i = 0; i < drop.size(); ++i) {
      if ((*data)[i] == kUnknownDim) return {};
      drop[i] = (*data)[i] == 1;
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < drop.size(); ++i) {
    if (!drop[i]) shape.push_back((*data)[i]);
  }
  Inferred inferred = Gives(std::move(shape));
  if (const Numbers* const numbers = node.InputNumbers(0)) {
    inferred.numbers = *numbers;
  }
  return inferred;
}

Inferred Unsqueezing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const auto axes = node.Ints("axes", 1);
  if (data == nullptr) return {};
  if (!axes) {
    const auto count = node.Count("axes", 1);
    return count ? GivesRank(data->size() + *count) : Inferred();
  }
  const std::size_t rank = data->size() + axes->size();
  if (rank > kMostRank) return {};
  std::vector<bool> added(rank);
  for (const std::int64_t one : *axes) {
    const auto axis = Axis(one, rank);
    if (!axis) return {};
    added[*axis] = true;
  }
  Shape shape;
  std::size_t next = 0;
  for (const bool is_new : added) {
    if (!is_new && next >= data->size()) return {};
    shape.push_back(is_new ? 1 : (*data)[next++]);
  }
  Inferred inferred = Gives(std::move(shape));
  if (const Numbers* const numbers = node.InputNumbers(0)) {
    inferred.numbers = *numbers;
  }
  return inferred;
}

Inferred Concatenating(const NodeView& node) {
  const Shape* const first = node.Input(0);
  if (first == nullptr) return {};
  const auto axis = Axis(node.attributes().Int("axis", 0), first->size());
  if (!axis) return {};
  Shape shape = *first;
  Numbers numbers;
  bool all = first->size() == 1;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Shape* const part = node.Input(i);
    if (part == nullptr || part->size() != shape.size()) return {};
    if (i > 0) {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (d == *axis) {
          shape[d] = shape[d] == kUnknownDim || (*part)[d] == kUnknownDim
                         ? kUnknownDim
                         : shape[d] + (*part)[d];
        } else if (shape[d] == kUnknownDim) {
          shape[d] = (*part)[d];
        }
      }
    }
    const Numbers* const more = node.InputNumbers(i);
    all = all && more != nullptr && numbers.size() <= kMostElements;
    if (all) numbers.insert(numbers.end(), more->begin(), more->end());
  }
  Inferred inferred = Gives(std::move(shape));
  if (all) inferred.numbers = std::move(numbers);
  return inferred;
}

Inferred Splitting(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto axis = Axis(node.attributes().Int("axis", 0), data->size());
  if (!axis) return {};
  const auto parts = node.Ints("split", 1);
  Inferred inferred;
  const auto count = static_cast<std::int64_t>(node.outputs());
  for (std::size_t i = 0; i < node.outputs(); ++i) {
    Shape shape = *data;
    if (parts && i < parts->size()) {
      shape[*axis] = (*parts)[i];
    } else if (!parts && !node.Has(1) && shape[*axis] != kUnknownDim) {
      const std::int64_t chunk = (shape[*axis] + count - 1) / count;
      const std::int64_t before = chunk * static_cast<std::int64_t>(i);
      shape[*axis] = std::clamp<std::int64_t>(shape[*axis] - before, 0, chunk);
    } else {
      shape[*axis] = kUnknownDim;
    }
    inferred.outputs.push_back(std::move(shape));
  }
  return inferred;
}

Inferred Slicing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto starts = node.Ints("starts", 1);
  const auto ends = node.Ints("ends", 2);
  auto axes = node.Ints("axes", 3);
  const auto steps = node.Ints("steps", 4);
  Shape shape = *data;
  if (!axes && node.Has(3)) return GivesRank(shape.size());
  if (!axes) {
    axes.emplace();
    const std::size_t count = starts ? starts->size() : shape.size();
    for (std::size_t i = 0; i < std::min(count, shape.size()); ++i) {
      axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  Inferred inferred;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = Axis((*axes)[i], shape.size());
    if (!axis) return {};
    const bool known = starts && ends && i < starts->size() &&
                       i < ends->size() && (steps || !node.Has(4));
    const std::int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
    shape[*axis] = known
                       ? SliceSize(shape[*axis], (*starts)[i], (*ends)[i], step)
                       : kUnknownDim;
    const Numbers* const numbers = node.InputNumbers(0);
    if (known && numbers != nullptr && shape.size() == 1 && step == 1 &&
        shape[0] >= 0) {
      std::int64_t from = (*starts)[i];
      const auto size = static_cast<std::int64_t>(numbers->size());
      if (from < 0) from += size;
      from = std::clamp<std::int64_t>(from, 0, size);
      if (from + shape[0] <= size) {
        inferred.numbers.emplace(numbers->begin() + from,
                                 numbers->begin() + from + shape[0]);
      }
    }
  }
  inferred.outputs = {std::move(shape)};
  return inferred;
}

Inferred Gathering(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const indices = node.Input(1);
  if (data == nullptr || indices == nullptr) return {};
  const auto axis = Axis(node.attributes().Int("axis", 0), data->size());
  if (!axis || data->size() + indices->size() > kMostRank) return {};
  Shape shape(data->begin(),
              data->begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), indices->begin(), indices->end());
  shape.insert(shape.end(),
               data->begin() + static_cast<std::ptrdiff_t>(*axis) + 1,
               data->end());
  Inferred inferred = Gives(std::move(shape));
  const Numbers* const numbers = node.InputNumbers(0);
  const Numbers* const which = node.InputNumbers(1);
  if (numbers != nullptr && which != nullptr && data->size() == 1) {
    Numbers taken;
    const auto size = static_cast<double>(numbers->size());
    for (double at : *which) {
      if (at < 0) at += size;
      if (!(at >= 0 && at < size)) return inferred;
      taken.push_back((*numbers)[static_cast<std::size_t>(at)]);
    }
    inferred.numbers = std::move(taken);
  }
  return inferred;
}

Inferred Expanding(const NodeView& node) {
  const Shape* const data = node.Input(0);
  auto wanted = node.Sizes(1);
  if (data == nullptr) return {};
  if (!wanted) {
    const auto count = node.Count("", 1);
    return count ? GivesRank(std::max(data->size(), *count)) : Inferred();
  }
  if (wanted->size() > kMostRank) return {};
  std::replace(wanted->begin(), wanted->end(), kNotKnown, kUnknownDim);
  const auto shape = Broadcast(*data, *wanted);
  return shape ? Gives(*shape) : Inferred();
}

Inferred Tiling(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const auto repeats = node.Ints("repeats", 1);
  if (data == nullptr) return {};
  if (!repeats || repeats->size() != data->size()) {
    return GivesRank(data->size());
  }
  Shape shape = *data;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != kUnknownDim)
      shape[i] *= std::max<std::int64_t>(0, (*repeats)[i]);
  }
  return Gives(std::move(shape));
}

Inferred Padding(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const auto pads = node.Ints("pads", 1);
  if (data == nullptr) return {};
  if (!pads || pads->size() != 2 * data->size() || node.Has(3)) {
    return GivesRank(data->size());
  }
  Shape shape = *data;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == kUnknownDim) continue;
    shape[i] = std::max<std::int64_t>(
        0, shape[i] + (*pads)[i] + (*pads)[i + shape.size()]);
  }
  return Gives(std::move(shape));
}

Inferred TopValues(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto axis = Axis(node.attributes().Int("axis", -1), data->size());
  const auto count = node.Ints("", 1);
  if (!axis) return {};
  Shape shape = *data;
  shape[*axis] = count && count->size() == 1 ? (*count)[0] : kUnknownDim;
  return {.outputs = {shape, shape}};
}

Inferred OneHotting(const NodeView& node) {
  const Shape* const indices = node.Input(0);
  if (indices == nullptr) return {};
  const auto axis =
      Axis(node.attributes().Int("axis", -1), indices->size() + 1);
  const auto depth = node.Ints("", 1);
  if (!axis) return {};
  Shape shape = *indices;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis),
               depth && depth->size() == 1 ? (*depth)[0] : kUnknownDim);
  return Gives(std::move(shape));
}

}  // namespace onnx_tag::sizes
