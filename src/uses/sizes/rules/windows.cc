// Windows over images and signals: convolutions, pooling, scaling, transforms.

#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

struct Window {
  Sizes kernel;
  Ints strides, dilations, pads;
  std::string_view auto_pad;
  bool ceiling = false;
};

Window WindowOf(const NodeView& node, Sizes kernel) {
  const std::size_t rank = kernel.size();
  const Attributes& attributes = node.attributes();
  Window window{.kernel = std::move(kernel),
                .strides = attributes.IntList("strides").value_or(Ints()),
                .dilations = attributes.IntList("dilations").value_or(Ints()),
                .pads = attributes.IntList("pads").value_or(Ints()),
                .auto_pad = attributes.Get("auto_pad").text,
                .ceiling = attributes.Int("ceil_mode", 0) != 0};
  window.strides.resize(rank, 1);
  window.dilations.resize(rank, 1);
  if (window.auto_pad == "VALID") window.pads.clear();
  window.pads.resize(2 * rank, 0);
  return window;
}

// How far the window reaches.
Dim Reach(Formulas& formulas, const Window& window, std::size_t axis) {
  return formulas.Plus(formulas.Times(formulas.Minus(window.kernel[axis], 1),
                                      window.dilations[axis]),
                       1);
}

// At how many places the window lies.
Dim Positions(Formulas& formulas, const Window& window, std::size_t axis,
              Dim size) {
  const std::int64_t stride = window.strides[axis];
  if (stride <= 0) return kUnknownDim;
  if (window.auto_pad.starts_with("SAME")) return formulas.Ceil(size, stride);
  const Dim padded = formulas.Plus(size, window.pads[axis]);
  Dim room = formulas.Minus(
      formulas.Plus(padded, window.pads[axis + window.kernel.size()]),
      Reach(formulas, window, axis));
  if (window.ceiling) {
    // The last window must begin inside the image or the padding before it.
    room = formulas.Min(formulas.Plus(room, stride - 1),
                        formulas.Minus(padded, 1));
  }
  const Dim positions = formulas.Plus(formulas.Floor(room, stride), 1);
  // A smaller image is an error at run time.
  return positions.IsNumber() && positions.number() < 0 ? kUnknownDim
                                                        : positions;
}

// The image in which the window lies at `places` places.
Dim Spread(Formulas& formulas, const Window& window, std::size_t axis,
           Dim places) {
  const Dim pads = formulas.Plus(window.pads[axis],
                                 window.pads[axis + window.kernel.size()]);
  return formulas.Plus(
      formulas.Times(formulas.Minus(places, 1), window.strides[axis]),
      formulas.Minus(Reach(formulas, window, axis), pads));
}

// Whether an image is [batch, height, width, channels]; so is the weight then.
bool IsLast(const NodeView& node) {
  return node.Flag("channels_last") || node.row().name.starts_with("Nhwc");
}

// The places of the window for each dimension of the image.
void Slide(const NodeView& node, const Window& window, Shape& shape) {
  const std::size_t first = IsLast(node) ? 1 : 2;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    Dim& size = shape[first + i];
    size = Positions(node.formulas(), window, i, size);
  }
}

// The window of a pool, if it has as many dimensions as the image.
std::optional<Window> PoolWindow(const NodeView& node, const Shape& data) {
  const auto kernel = node.attributes().IntList("kernel_shape");
  if (!kernel || data.size() != kernel->size() + 2) return std::nullopt;
  return WindowOf(node, Sizes(kernel->begin(), kernel->end()));
}

// A scale with an exact fraction, or one that ONNX Runtime rounds.
Dim ScaledSize(const NodeView& node, Dim size, const Number& scale) {
  if (!scale.known()) return kUnknownDim;
  const Arithmetic arithmetic(node.formulas());
  if (const auto value = ValueOf(scale); value && !size.IsFormula()) {
    return node.formulas().Scaled(size, static_cast<float>(*value));
  }
  return arithmetic.Floor(arithmetic.Times({size}, scale)).over;
}

// Half of the frequencies mirror the others.
Dim Frequencies(const NodeView& node, Dim length, bool otherwise) {
  Formulas& formulas = node.formulas();
  return node.Flag("onesided", otherwise)
             ? formulas.Plus(formulas.Floor(length, 2), 1)
             : length;
}

}  // namespace

namespace shape {

Facts Convolution(const NodeView& node, const Shape& data) {
  const Shape* const weight = node.Input(node.WeightInput());
  if (weight == nullptr || data.size() < 3 || weight->size() != data.size()) {
    return GivesRank(data.size());
  }
  const bool last = IsLast(node);
  const Window window =
      WindowOf(node, last ? Sizes(weight->begin() + 1, weight->end() - 1)
                          : Sizes(weight->begin() + 2, weight->end()));
  Shape shape = data;
  shape[last ? shape.size() - 1 : 1] = (*weight)[0];
  Slide(node, window, shape);
  return Gives(std::move(shape));
}

// Of ONNX [batch, channels, length], of ONNX Runtime the same or channels last;
// then the state for the next run.
Facts CausalConvolution(const NodeView& node, const Shape& data) {
  Fact state{.shape = node.InputFact(3).shape};
  const Shape* const weight = node.Input(1);
  if (!state.shape && data.size() == 3 && weight != nullptr) {
    state.shape =
        Shape{data[0], data[1], node.formulas().Minus(node.Size(1, -1), 1)};
  }
  return {{.shape = data}, state};
}

Facts TransposedConvolution(const NodeView& node, const Shape& data) {
  const Shape* const weight = node.Input(node.WeightInput());
  if (weight == nullptr || data.size() < 3 || weight->size() != data.size()) {
    return GivesRank(data.size());
  }
  Formulas& formulas = node.formulas();
  const Window window =
      WindowOf(node, Sizes(weight->begin() + 2, weight->end()));
  const std::size_t rank = window.kernel.size();
  Ints extra = node.attributes().IntList("output_padding").value_or(Ints());
  extra.resize(rank, 0);
  const auto stated = node.attributes().IntList("output_shape");
  Shape shape = {data[0], formulas.Times((*weight)[1], node.Int("group", 1))};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Dim size = data[axis + 2];
    if (stated && stated->size() >= rank) {
      // Old models state all dimensions, new ones those of the image.
      shape.push_back((*stated)[stated->size() - rank + axis]);
    } else if (window.auto_pad.starts_with("SAME")) {
      shape.push_back(formulas.Times(size, window.strides[axis]));
    } else {
      shape.push_back(
          formulas.Plus(Spread(formulas, window, axis, size), extra[axis]));
    }
  }
  return Gives(std::move(shape));
}

Facts Pool(const NodeView& node, const Shape& data) {
  const auto window = PoolWindow(node, data);
  Shape shape = window ? data : Shape(data.size());
  if (window) Slide(node, *window, shape);
  return {{.shape = shape}, {.shape = shape, .type = kInt64}};
}

Facts GlobalPool(const NodeView& node, const Shape& data) {
  if (data.size() < 2) return {};
  Shape shape(data.size(), 1);
  shape[0] = data[0];
  const std::size_t channels = IsLast(node) ? data.size() - 1 : 1;
  shape[channels] = data[channels];
  return Gives(std::move(shape));
}

Facts MaxUnpool(const NodeView& node, const Shape& data) {
  if (node.Has(2)) {
    const auto sizes = node.InputSizes(2);
    return sizes ? Gives(*sizes) : GivesOwn(node, data.size());
  }
  const auto window = PoolWindow(node, data);
  if (!window) return GivesRank(data.size());
  Shape shape = data;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) {
    shape[i + 2] = Spread(node.formulas(), *window, i, shape[i + 2]);
  }
  return Gives(std::move(shape));
}

Facts RoiPool(const NodeView& node, const Shape& data, const Shape& regions) {
  const auto pooled = node.attributes().IntList("pooled_shape");
  if (data.size() < 2 || regions.empty() || !pooled) return {};
  return Gives(With({regions[0], data[1]}, *pooled));
}

Facts RoiAlign(const NodeView& node, const Shape& data, const Shape& regions) {
  if (data.size() < 2 || regions.empty()) return {};
  return Gives({regions[0], data[1], node.Int("output_height", 1),
                node.Int("output_width", 1)});
}

Facts Resize(const NodeView& node, const Shape& data) {
  const std::size_t rank = data.size();
  // Upsample and Resize of opset 10 have two inputs, or an attribute.
  const bool old = node.op() == Op::kUpsample || node.inputs() == 2;
  Sizes sizes;
  std::vector<Number> scales;
  if (const Attribute given = node.attributes().Get("scales");
      given.has_reals()) {
    for (const float scale : given.reals)
      scales.push_back(NumberOf(double{scale}));
  } else if (const auto small = node.SmallInput(old ? 1 : 2)) {
    scales = small->elements;
  }
  if (!old && node.Has(3)) {
    if (const auto wanted = node.InputSizes(3)) sizes = *wanted;
    scales.clear();
  }
  const Ints axes = node.attributes().IntList("axes").value_or(FirstAxes(rank));
  if (node.attributes()
          .Get("keep_aspect_ratio_policy")
          .text.starts_with("not_") ||
      (sizes.size() != axes.size() && scales.size() != axes.size())) {
    return GivesOwn(node, rank);
  }
  Shape shape = data;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = Axis(axes[i], rank);
    if (!axis) return {};
    Dim& size = shape[*axis];
    size = node.OwnIfUnknown(sizes.size() == axes.size()
                                 ? sizes[i]
                                 : ScaledSize(node, size, scales[i]),
                             *axis);
  }
  return Gives(std::move(shape));
}

Facts DepthToSpace(const NodeView& node, const Shape& data) {
  const std::int64_t block = node.Int("blocksize");
  if (data.size() != 4 || block <= 0 || block > 1 << 15) return {};
  Formulas& formulas = node.formulas();
  const bool to_space = node.op() == Op::kDepthToSpace;
  Shape shape = data;
  for (std::size_t i = 1; i < 4; ++i) {
    const std::int64_t by = i == 1 ? block * block : block;
    shape[i] = (i == 1) == to_space ? formulas.Floor(shape[i], by)
                                    : formulas.Times(shape[i], by);
  }
  return Gives(std::move(shape));
}

Facts GridSample(const NodeView& node, const Shape& data) {
  const Shape* const grid = node.Input(1);
  if (data.size() < 3) return {};
  if (grid == nullptr || grid->size() != data.size()) {
    return GivesRank(data.size());
  }
  return Gives(
      With({data[0], data[1]}, Shape(grid->begin() + 1, grid->end() - 1)));
}

// The size [N, C, (D,) H, W] of an image gives [N, (D,) H, W, 2 or 3].
Facts AffineGrid(const NodeView& node) {
  const auto size = node.InputSizes(1);
  if (!size || size->size() < 4) return {};
  Shape shape = *size;
  shape.erase(shape.begin() + 1);
  shape.push_back(static_cast<std::int64_t>(size->size()) - 2);
  return Gives(std::move(shape));
}

// Columns [N, C · block, L] become an image [N, C, ...].
Facts ColToImage(const NodeView& node, const Shape& data) {
  const auto image = node.InputSizes(1);
  const auto block = node.InputSizes(2);
  if (data.size() != 3) return {};
  if (!image || !block) {
    const auto rank = node.Count(1);
    return rank ? GivesRank(*rank + 2) : Facts();
  }
  const Dim channels = node.formulas().Floor(data[1], node.Product(*block));
  return Gives(With({data[0], channels}, *image));
}

// ---------------------------------------------------------------- signals
Facts Fourier(const NodeView& node, const Shape& data) {
  if (data.size() < 2) return {};
  std::int64_t place = node.Int("axis", -2);
  if (node.Has(2)) {
    const Dim given = node.InputSize(2);
    if (!given.IsNumber()) return GivesOwn(node, data.size());
    place = given.number();
  }
  const auto axis = Axis(place, data.size());
  if (!axis) return {};
  Shape shape = data;
  const bool inverse = node.Flag("inverse");
  const bool onesided = node.Flag("onesided");
  Dim length = shape[*axis];
  if (node.Has(1)) {
    length = node.InputSize(1);
  } else if (inverse && onesided) {
    length = node.formulas().Times(node.formulas().Minus(length, 1), 2);
  }
  shape[*axis] = inverse ? length : Frequencies(node, length, false);
  shape.back() = inverse && onesided ? 1 : 2;
  return Gives(std::move(shape));
}

Facts ShortFourier(const NodeView& node, const Shape& signal) {
  if (signal.size() < 2) return {};
  const Dim frame = node.Has(3) ? node.InputSize(3) : node.Size(2, 0);
  Formulas& formulas = node.formulas();
  const Dim room = formulas.Minus(signal[1], frame);
  const Dim frames = formulas.Plus(formulas.Floor(room, node.InputSize(1)), 1);
  return Gives({signal[0], frames, Frequencies(node, frame, true), 2});
}

Facts WindowFunction(const NodeView& node) {
  return Gives({node.OwnIfUnknown(node.InputSize(0), 0)});
}

// [dft_length / 2 + 1, bins]
Facts MelWeights(const NodeView& node) {
  Formulas& formulas = node.formulas();
  return Gives({formulas.Plus(formulas.Floor(node.InputSize(1), 2), 1),
                node.InputSize(0)});
}

}  // namespace shape
}  // namespace onnx_tag::sizes
