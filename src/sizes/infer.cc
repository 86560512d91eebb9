#include "sizes/infer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "sizes/attributes.h"
#include "sizes/element_types.h"

namespace onnx_tag::sizes {
namespace {

constexpr std::int32_t kInt64 = 7;
// Shapes of longer rank than any operator makes are an attack.
constexpr std::size_t kMostRank = 64;

constexpr std::int64_t kNotKnown = std::numeric_limits<std::int64_t>::min();

// What a rule sees of its node.
class NodeView {
 public:
  NodeView(const Model& model, const Shapes& shapes, NodeId node)
      : model_(model),
        shapes_(shapes),
        node_(node),
        attributes_(model.NodeBytes(node)) {}

  std::string_view op() const { return model_.OpType(node_); }
  const Attributes& attributes() const { return attributes_; }
  std::size_t inputs() const { return model_.Inputs(node_).size(); }
  std::size_t outputs() const { return model_.Outputs(node_).size(); }
  // Null where the input is left out or nothing is known of it.
  const Shape* Input(std::size_t i) const {
    const ValueId value = At(i);
    if (value == kNo<ValueId>) return nullptr;
    const std::optional<Shape>& shape = shapes_.Of(value);
    return shape && shape->size() <= kMostRank ? &*shape : nullptr;
  }
  bool Has(std::size_t i) const { return At(i) != kNo<ValueId>; }
  const Numbers* InputNumbers(std::size_t i) const {
    const ValueId value = At(i);
    return value == kNo<ValueId> ? nullptr : shapes_.NumbersOf(value);
  }
  std::int32_t InputType(std::size_t i) const {
    const ValueId value = At(i);
    return value == kNo<ValueId> ? 0 : shapes_.TypeOf(value);
  }
  // An attribute of older operator sets, an input of newer ones.
  std::optional<Shape> Ints(std::string_view name, std::size_t input) const {
    if (auto ints = attributes_.Ints(name)) return ints;
    auto ints = Sizes(input);
    if (ints &&
        std::find(ints->begin(), ints->end(), kNotKnown) != ints->end()) {
      return std::nullopt;
    }
    return ints;
  }
  // The numbers of an input; kNotKnown where one of them is not known.
  std::optional<Shape> Sizes(std::size_t input) const {
    const Numbers* const numbers = InputNumbers(input);
    if (numbers == nullptr) return std::nullopt;
    Shape sizes;
    for (const double number : *numbers) {
      sizes.push_back(std::isnan(number)
                          ? kNotKnown
                          : static_cast<std::int64_t>(std::clamp(
                                number, -static_cast<double>(kMostDim),
                                static_cast<double>(kMostDim))));
    }
    return sizes;
  }

 private:
  ValueId At(std::size_t i) const {
    const auto inputs = model_.Inputs(node_);
    return i < inputs.size() ? inputs[i] : kNo<ValueId>;
  }

  const Model& model_;
  const Shapes& shapes_;
  NodeId node_;
  Attributes attributes_;
};

using Rule = Inferred (*)(const NodeView&);

Inferred Gives(Shape shape) { return {.outputs = {std::move(shape)}}; }

// A negative axis counts from the end; nothing where it is outside.
std::optional<std::size_t> Axis(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

Inferred SameAsFirst(const NodeView& node) {
  const Shape* const shape = node.Input(0);
  if (shape == nullptr) return {};
  Inferred inferred = Gives(*shape);
  inferred.data_type =
      node.op() == "Cast"
          ? static_cast<std::int32_t>(node.attributes().Int("to", 0))
          : node.InputType(0);
  const bool cast = node.op() == "Cast";
  const bool floor = node.op() == "Floor";
  const Numbers* const numbers = node.InputNumbers(0);
  if (numbers == nullptr || (!cast && !floor && node.op() != "Identity")) {
    return inferred;
  }
  inferred.numbers = *numbers;
  for (double& number : *inferred.numbers) {
    if (floor) number = std::floor(number);
    if (cast && inferred.data_type == kInt64) number = std::trunc(number);
  }
  return inferred;
}

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
    inferred.data_type = node.InputType(1);
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
  } else {
    inferred.data_type = node.InputType(0);
  }
  return inferred;
}

// The product of matrices in the last two dimensions.
std::optional<Shape> ProductShape(Shape a, Shape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  auto shape =
      Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!shape) return std::nullopt;
  if (!row) shape->push_back(a[a.size() - 2]);
  if (!column) shape->push_back(b.back());
  return shape;
}

Inferred Product(const NodeView& node) {
  const bool linear = node.op() == "QLinearMatMul";
  const Shape* const a = node.Input(0);
  const Shape* const b = node.Input(linear ? 3 : 1);
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return {};
  Shape left = *a;
  Shape right = *b;
  if (node.attributes().Int("transA", 0) != 0 && left.size() > 1) {
    std::swap(left[left.size() - 1], left[left.size() - 2]);
  }
  if (node.attributes().Int("transB", 0) != 0 && right.size() > 1) {
    std::swap(right[right.size() - 1], right[right.size() - 2]);
  }
  const auto shape = ProductShape(left, right);
  return shape ? Gives(*shape) : Inferred();
}

Inferred GemmProduct(const NodeView& node) {
  const Shape* const a = node.Input(0);
  const Shape* const b = node.Input(node.op() == "QGemm" ? 3 : 1);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) {
    return {};
  }
  const bool left = node.attributes().Int("transA", 0) != 0;
  const bool right = node.attributes().Int("transB", 0) != 0;
  return Gives({(*a)[left ? 1 : 0], (*b)[right ? 0 : 1]});
}

Inferred BlockProduct(const NodeView& node) {  // MatMulNBits
  const Shape* const a = node.Input(0);
  if (a == nullptr || a->empty()) return {};
  Shape shape = *a;
  shape.back() = node.attributes().Int("N", kUnknownDim);
  return Gives(std::move(shape));
}

struct Window {
  Shape kernel, strides, dilations, pads;
  std::string_view auto_pad;
  bool ceiling = false;
};

Window WindowOf(const NodeView& node, Shape kernel) {
  const std::size_t rank = kernel.size();
  const Attributes& attributes = node.attributes();
  Window window{
      .kernel = std::move(kernel),
      .strides = attributes.Ints("strides").value_or(Shape(rank, 1)),
      .dilations = attributes.Ints("dilations").value_or(Shape(rank, 1)),
      .pads = attributes.Ints("pads").value_or(Shape(2 * rank, 0)),
      .auto_pad = attributes.Text("auto_pad"),
      .ceiling = attributes.Int("ceil_mode", 0) != 0};
  window.strides.resize(rank, 1);
  window.dilations.resize(rank, 1);
  window.pads.resize(2 * rank, 0);
  return window;
}

std::int64_t WindowPositions(const Window& window, std::size_t axis,
                             std::int64_t size) {
  const std::int64_t stride = window.strides[axis];
  if (size == kUnknownDim || window.kernel[axis] == kUnknownDim ||
      stride <= 0) {
    return kUnknownDim;
  }
  if (window.auto_pad.starts_with("SAME")) return (size + stride - 1) / stride;
  const std::size_t rank = window.kernel.size();
  const std::int64_t reach =
      window.dilations[axis] * (window.kernel[axis] - 1) + 1;
  const std::int64_t room =
      size +
      (window.auto_pad == "VALID"
           ? 0
           : window.pads[axis] + window.pads[axis + rank]) -
      reach;
  if (room < 0) return kUnknownDim;
  return (room + (window.ceiling ? stride - 1 : 0)) / stride + 1;
}

Inferred Convolution(const NodeView& node) {
  const bool linear = node.op() == "QLinearConv";
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(linear ? 3 : 1);
  if (data == nullptr || weight == nullptr || data->size() < 3 ||
      weight->size() != data->size()) {
    return {};
  }
  const Window window =
      WindowOf(node, Shape(weight->begin() + 2, weight->end()));
  Shape shape = {(*data)[0], (*weight)[0]};
  for (std::size_t axis = 0; axis + 2 < data->size(); ++axis) {
    shape.push_back(WindowPositions(window, axis, (*data)[axis + 2]));
  }
  return Gives(std::move(shape));
}

Inferred TransposedConvolution(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(1);
  if (data == nullptr || weight == nullptr || data->size() < 3 ||
      weight->size() != data->size()) {
    return {};
  }
  const Window window =
      WindowOf(node, Shape(weight->begin() + 2, weight->end()));
  const std::size_t rank = window.kernel.size();
  const std::int64_t group = node.attributes().Int("group", 1);
  const Shape extra =
      node.attributes().Ints("output_padding").value_or(Shape(rank, 0));
  const auto stated = node.attributes().Ints("output_shape");
  Shape shape = {(*data)[0], (*weight)[1] == kUnknownDim
                                 ? kUnknownDim
                                 : (*weight)[1] * group};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t size = (*data)[axis + 2];
    if (stated && axis < stated->size()) {
      shape.push_back((*stated)[axis]);
    } else if (size == kUnknownDim || window.kernel[axis] == kUnknownDim) {
      shape.push_back(kUnknownDim);
    } else if (window.auto_pad.starts_with("SAME")) {
      shape.push_back(size * window.strides[axis]);
    } else {
      shape.push_back(window.strides[axis] * (size - 1) +
                      (axis < extra.size() ? extra[axis] : 0) +
                      window.dilations[axis] * (window.kernel[axis] - 1) + 1 -
                      window.pads[axis] - window.pads[axis + rank]);
    }
  }
  return Gives(std::move(shape));
}

Inferred Pooling(const NodeView& node) {
  const Shape* const data = node.Input(0);
  auto kernel = node.attributes().Ints("kernel_shape");
  if (data == nullptr || !kernel || data->size() != kernel->size() + 2)
    return {};
  const Window window = WindowOf(node, std::move(*kernel));
  Shape shape = {(*data)[0], (*data)[1]};
  for (std::size_t axis = 0; axis < window.kernel.size(); ++axis) {
    shape.push_back(WindowPositions(window, axis, (*data)[axis + 2]));
  }
  return {.outputs = {shape, shape}};
}

Inferred GlobalPooling(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr || data->size() < 2) return {};
  Shape shape(data->size(), 1);
  shape[0] = (*data)[0];
  shape[1] = (*data)[1];
  return Gives(std::move(shape));
}

Inferred Reshaping(const NodeView& node) {
  auto wanted = node.attributes().Ints("shape");
  if (!wanted) wanted = node.Sizes(1);
  const Shape* const data = node.Input(0);
  if (!wanted) {
    // The length of the shape is the rank of the result.
    const Shape* const length = node.Input(1);
    if (length == nullptr || length->size() != 1 || (*length)[0] < 0 ||
        (*length)[0] > static_cast<std::int64_t>(kMostRank)) {
      return {};
    }
    return Gives(Shape(static_cast<std::size_t>((*length)[0]), kUnknownDim));
  }
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
  inferred.data_type = node.InputType(0);
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
  if (data == nullptr) return {};
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
  } else {
    if (node.Has(1)) return {};
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
  inferred.data_type = node.InputType(0);
  if (const Numbers* const numbers = node.InputNumbers(0)) {
    inferred.numbers = *numbers;
  }
  return inferred;
}

Inferred Unsqueezing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const auto axes = node.Ints("axes", 1);
  if (data == nullptr || !axes) return {};
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
  inferred.data_type = node.InputType(0);
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
  inferred.data_type = node.InputType(0);
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
  inferred.data_type = node.InputType(0);
  return inferred;
}

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

Inferred Slicing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto starts = node.Ints("starts", 1);
  const auto ends = node.Ints("ends", 2);
  auto axes = node.Ints("axes", 3);
  const auto steps = node.Ints("steps", 4);
  Shape shape = *data;
  if (!axes && node.Has(3)) return Gives(Shape(shape.size(), kUnknownDim));
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
  inferred.data_type = node.InputType(0);
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
  inferred.data_type = node.InputType(0);
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

Inferred SameAsSecond(const NodeView& node) {
  const Shape* const shape = node.Input(1);
  return shape == nullptr ? Inferred() : Gives(*shape);
}

Inferred Expanding(const NodeView& node) {
  const Shape* const data = node.Input(0);
  auto wanted = node.Sizes(1);
  if (data == nullptr || !wanted || wanted->size() > kMostRank) return {};
  std::replace(wanted->begin(), wanted->end(), kNotKnown, kUnknownDim);
  const auto shape = Broadcast(*data, *wanted);
  return shape ? Gives(*shape) : Inferred();
}

Inferred Tiling(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const auto repeats = node.Ints("repeats", 1);
  if (data == nullptr || !repeats || repeats->size() != data->size()) return {};
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
    return Gives(Shape(data->size(), kUnknownDim));
  }
  Shape shape = *data;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == kUnknownDim) continue;
    shape[i] = std::max<std::int64_t>(
        0, shape[i] + (*pads)[i] + (*pads)[i + shape.size()]);
  }
  return Gives(std::move(shape));
}

Inferred ShapeOf(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const auto rank = static_cast<std::int64_t>(data->size());
  std::int64_t start = node.attributes().Int("start", 0);
  std::int64_t end = node.attributes().Int("end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = std::clamp<std::int64_t>(start, 0, rank);
  end = std::clamp<std::int64_t>(end, start, rank);
  Inferred inferred = Gives({end - start});
  inferred.data_type = kInt64;
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
  inferred.data_type = kInt64;
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
            .data_type = tensor.data_type,
            .numbers = std::move(tensor.numbers)};
  }
  if (const auto ints = node.attributes().Ints("value_ints")) {
    Inferred inferred = Gives({static_cast<std::int64_t>(ints->size())});
    inferred.data_type = kInt64;
    if (ints->size() <= kMostElements) {
      inferred.numbers.emplace(ints->begin(), ints->end());
    }
    return inferred;
  }
  if (node.attributes().Has("value_float")) return Gives({});
  if (!node.attributes().Has("value_int")) return {};
  Inferred inferred = Gives({});
  inferred.data_type = kInt64;
  inferred.numbers = {
      static_cast<double>(node.attributes().Int("value_int", 0))};
  return inferred;
}

Inferred FilledShape(const NodeView& node) {  // ConstantOfShape
  const auto wanted = node.Sizes(0);
  if (!wanted || wanted->size() > kMostRank) return {};
  Inferred inferred = Gives(*wanted);
  const Bytes bytes = node.attributes().Tensor("value");
  double fill = 0;
  inferred.data_type = 1;
  if (!bytes.empty()) {
    const SmallTensor tensor = ReadSmallTensor(bytes);
    inferred.data_type = tensor.data_type;
    if (!tensor.numbers || tensor.numbers->size() != 1) return inferred;
    fill = tensor.numbers->front();
  }
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
  inferred.data_type = node.InputType(0);
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
    return keep ? Gives(Shape(data->size(), kUnknownDim)) : Inferred();
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

Inferred Resizing(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  const bool old = node.op() == "Upsample";
  const Numbers* const scales =
      node.InputNumbers(old || node.inputs() == 2 ? 1 : 2);
  const Numbers* const sizes = old ? nullptr : node.InputNumbers(3);
  Shape shape(data->size(), kUnknownDim);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (sizes != nullptr && sizes->size() == shape.size()) {
      if ((*sizes)[i] >= 0 && (*sizes)[i] < 1e15) {
        shape[i] = static_cast<std::int64_t>((*sizes)[i]);
      }
    } else if (scales != nullptr && scales->size() == shape.size() &&
               (*data)[i] != kUnknownDim) {
      const double size =
          std::floor(static_cast<double>((*data)[i]) * (*scales)[i]);
      if (size >= 0 && size < 1e15) shape[i] = static_cast<std::int64_t>(size);
    }
  }
  return Gives(std::move(shape));
}

Inferred DepthToSpace(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const std::int64_t block = node.attributes().Int("blocksize", 0);
  if (data == nullptr || data->size() != 4 || block <= 0 || block > 1024) {
    return {};
  }
  const bool to_space = node.op() == "DepthToSpace";
  Shape shape = *data;
  for (std::size_t i = 1; i < 4; ++i) {
    if (shape[i] == kUnknownDim) continue;
    if ((i == 1) == to_space) {
      shape[i] /= i == 1 ? block * block : block;
    } else {
      shape[i] *= i == 1 ? block * block : block;
    }
  }
  return Gives(std::move(shape));
}

Inferred Recurrent(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(2);
  if (data == nullptr || weight == nullptr || data->size() != 3 ||
      weight->size() != 3) {
    return {};
  }
  const std::int64_t hidden = (*weight)[2];
  const std::int64_t directions = (*weight)[0];
  return {.outputs = {Shape{(*data)[0], directions, (*data)[1], hidden},
                      Shape{directions, (*data)[1], hidden},
                      Shape{directions, (*data)[1], hidden}}};
}

Inferred EinsumProduct(const NodeView& node) {
  std::string_view equation = node.attributes().Text("equation");
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos ||
      equation.find('.') != std::string_view::npos) {
    return {};
  }
  std::unordered_map<char, std::int64_t> sizes;
  std::size_t input = 0;
  std::size_t place = 0;
  for (const char letter : equation.substr(0, arrow)) {
    if (letter == ' ') continue;
    if (letter == ',') {
      ++input;
      place = 0;
      continue;
    }
    const Shape* const shape = node.Input(input);
    if (shape == nullptr || place >= shape->size()) return {};
    sizes[letter] = (*shape)[place++];
  }
  Shape shape;
  for (const char letter : equation.substr(arrow + 2)) {
    if (letter == ' ') continue;
    const auto found = sizes.find(letter);
    if (found == sizes.end()) return {};
    shape.push_back(found->second);
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

// com.microsoft: [batch, sequence, hidden] with the projection in its weight.
Inferred PackedAttention(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(1);
  if (data == nullptr || data->size() != 3) return {};
  Shape shape = *data;
  const auto sizes = node.attributes().Ints("qkv_hidden_sizes");
  if (sizes && sizes->size() == 3) {
    shape[2] = (*sizes)[2];
  } else if (weight != nullptr && weight->size() == 2 && (*weight)[1] > 0) {
    shape[2] = (*weight)[1] / 3;
  }
  return Gives(std::move(shape));
}

const std::unordered_map<std::string_view, Rule>& Rules() {
  static const auto* const rules = [] {
    auto* const table = new std::unordered_map<std::string_view, Rule>;
    const auto add = [&](Rule rule,
                         std::initializer_list<std::string_view> ops) {
      for (const std::string_view op : ops) table->emplace(op, rule);
    };
    add(SameAsFirst, {"Abs",
                      "Acos",
                      "Asin",
                      "Atan",
                      "BatchNormalization",
                      "BiasGelu",
                      "BiasSplitGelu",
                      "Cast",
                      "CastLike",
                      "Ceil",
                      "Celu",
                      "Clip",
                      "Cos",
                      "CumSum",
                      "DequantizeLinear",
                      "Dropout",
                      "DynamicQuantizeLinear",
                      "Elu",
                      "Erf",
                      "Exp",
                      "FastGelu",
                      "Floor",
                      "Gelu",
                      "GroupNorm",
                      "GroupNormalization",
                      "HardSigmoid",
                      "HardSwish",
                      "Hardmax",
                      "Identity",
                      "InstanceNormalization",
                      "IsInf",
                      "IsNaN",
                      "LRN",
                      "LayerNormalization",
                      "LeakyRelu",
                      "Log",
                      "LogSoftmax",
                      "LpNormalization",
                      "MeanVarianceNormalization",
                      "Mish",
                      "MultiHeadAttention",
                      "Neg",
                      "Not",
                      "PRelu",
                      "QuantizeLinear",
                      "QuickGelu",
                      "RMSNormalization",
                      "Reciprocal",
                      "Relu",
                      "RotaryEmbedding",
                      "Round",
                      "ScatterElements",
                      "ScatterND",
                      "Selu",
                      "Shrink",
                      "Sigmoid",
                      "Sign",
                      "Silu",
                      "SimplifiedLayerNormalization",
                      "Sin",
                      "Sinh",
                      "SkipLayerNormalization",
                      "SkipSimplifiedLayerNormalization",
                      "Softmax",
                      "Softplus",
                      "Softsign",
                      "Sqrt",
                      "Swish",
                      "Tan",
                      "Tanh",
                      "ThresholdedRelu",
                      "Trilu"});
    add(BroadcastAll, {"Add",       "And",
                       "BitShift",  "BitwiseAnd",
                       "BitwiseOr", "BitwiseXor",
                       "Div",       "Equal",
                       "Greater",   "GreaterOrEqual",
                       "Less",      "LessOrEqual",
                       "Max",       "Mean",
                       "Min",       "Mod",
                       "Mul",       "Or",
                       "Pow",       "Sub",
                       "Sum",       "Where",
                       "Xor"});
    add(Product,
        {"FusedMatMul", "MatMul", "MatMulInteger", "MatMulIntegerToFloat",
         "DynamicQuantizeMatMul", "QLinearMatMul"});
    add(GemmProduct, {"FusedGemm", "Gemm", "QGemm"});
    add(BlockProduct, {"MatMulNBits"});
    add(Convolution, {"Conv", "ConvInteger", "FusedConv", "QLinearConv"});
    add(TransposedConvolution, {"ConvTranspose"});
    add(Pooling, {"AveragePool", "LpPool", "MaxPool"});
    add(GlobalPooling, {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"});
    add(Reshaping, {"Reshape"});
    add(Transposing, {"Transpose"});
    add(Flattening, {"Flatten"});
    add(Squeezing, {"Squeeze"});
    add(Unsqueezing, {"Unsqueeze"});
    add(Concatenating, {"Concat"});
    add(Splitting, {"Split"});
    add(Slicing, {"Slice"});
    add(Gathering, {"Gather"});
    add(SameAsSecond, {"GatherElements"});
    add(Expanding, {"Expand"});
    add(Tiling, {"Tile"});
    add(Padding, {"Pad"});
    add(ShapeOf, {"Shape"});
    add(SizeOf, {"Size"});
    add(ConstantValue, {"Constant"});
    add(FilledShape, {"ConstantOfShape"});
    add(RangeOf, {"Range"});
    add(Reducing, {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
                   "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                   "ReduceProd", "ReduceSum", "ReduceSumSquare"});
    add(Resizing, {"Resize", "Upsample"});
    add(DepthToSpace, {"DepthToSpace", "SpaceToDepth"});
    add(Recurrent, {"GRU", "LSTM", "RNN"});
    add(EinsumProduct, {"Einsum"});
    add(TopValues, {"TopK"});
    add(PackedAttention, {"Attention", "QAttention"});
    return table;
  }();
  return *rules;
}

}  // namespace

std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = shape[offset + i];
    const std::int64_t other = shorter[i];
    if (dim == other || other == 1) continue;
    if (dim == 1) {
      dim = other;
    } else if (dim == kUnknownDim) {
      dim = other;
    } else if (other != kUnknownDim) {
      return std::nullopt;
    }
  }
  return shape;
}

Inferred Infer(const Model& model, const Shapes& shapes, NodeId node) {
  // Domains of ONNX Runtime have the same operators, and more.
  const std::string_view domain = model.Domain(node);
  if (!domain.empty() && domain != "ai.onnx" &&
      !domain.starts_with("com.microsoft") && !domain.starts_with("com.ms.")) {
    return {};
  }
  const auto rule = Rules().find(model.OpType(node));
  if (rule == Rules().end()) return {};
  Inferred inferred = rule->second(NodeView(model, shapes, node));
  if (inferred.numbers && inferred.numbers->size() > kMostElements) {
    inferred.numbers.reset();
  }
  return inferred;
}

}  // namespace onnx_tag::sizes
