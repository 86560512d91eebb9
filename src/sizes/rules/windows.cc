#include <algorithm>
#include <cmath>

#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

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

}  // namespace

Inferred Convolution(const NodeView& node) {
  const bool linear = node.op() == "QLinearConv";
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(linear ? 3 : 1);
  if (data == nullptr) return {};
  if (weight == nullptr || data->size() < 3 || weight->size() != data->size()) {
    return GivesRank(data->size());
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
  if (data == nullptr) return {};
  if (weight == nullptr || data->size() < 3 || weight->size() != data->size()) {
    return GivesRank(data->size());
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
  if (data == nullptr) return {};
  if (!kernel || data->size() != kernel->size() + 2) {
    return {.outputs = {Shape(data->size(), kUnknownDim),
                        Shape(data->size(), kUnknownDim)}};
  }
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

Inferred GridSampling(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const grid = node.Input(1);
  if (data == nullptr || data->size() < 3) return {};
  if (grid == nullptr || grid->size() != data->size()) {
    return GivesRank(data->size());
  }
  Shape shape = {(*data)[0], (*data)[1]};
  shape.insert(shape.end(), grid->begin() + 1, grid->end() - 1);
  return Gives(std::move(shape));
}

}  // namespace onnx_tag::sizes
