// What a rule sees of its node, and what rules share.
#ifndef ONNX_TAG_SIZES_RULES_NODE_VIEW_H_
#define ONNX_TAG_SIZES_RULES_NODE_VIEW_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "sizes/attributes.h"
#include "sizes/element_types.h"
#include "sizes/infer.h"

namespace onnx_tag::sizes {

// Shapes of longer rank than any operator makes are an attack.
inline constexpr std::size_t kMostRank = 64;

inline constexpr std::int64_t kNotKnown =
    std::numeric_limits<std::int64_t>::min();

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
  // How many numbers Ints() would give; also where they are not known.
  std::optional<std::size_t> Count(std::string_view name,
                                   std::size_t input) const {
    if (const auto ints = attributes_.Ints(name)) return ints->size();
    const Shape* const shape = Input(input);
    if (shape == nullptr || shape->size() > 1) return std::nullopt;
    const std::int64_t count = shape->empty() ? 1 : shape->front();
    if (count < 0 || count > static_cast<std::int64_t>(kMostRank)) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(count);
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

inline Inferred Gives(Shape shape) { return {.outputs = {std::move(shape)}}; }

// Only the number of dimensions is known, or not even that.
inline Inferred GivesRank(std::optional<std::size_t> rank) {
  return rank && *rank <= kMostRank ? Gives(Shape(*rank, kUnknownDim))
                                    : Inferred();
}

// A negative axis counts from the end; nothing where it is outside.
inline std::optional<std::size_t> Axis(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_RULES_NODE_VIEW_H_
