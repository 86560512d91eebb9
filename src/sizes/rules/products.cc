#include <algorithm>

#include "sizes/einsum.h"
#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

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

}  // namespace

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
    return GivesRank(2);
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

Inferred EinsumProduct(const NodeView& node) {
  std::string_view equation = node.attributes().Text("equation");
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos ||
      equation.find('.') != std::string_view::npos) {
    return {};
  }
  const std::string_view result = equation.substr(arrow + 2);
  std::unordered_map<char, std::int64_t> sizes;
  const bool known = VisitEinsumInputs(
      equation.substr(0, arrow), [&](std::size_t i) { return node.Input(i); },
      [&](char letter, std::int64_t size) { sizes[letter] = size; });
  Shape shape;
  for (const char letter : result) {
    if (letter == ' ') continue;
    const auto found = sizes.find(letter);
    shape.push_back(known && found != sizes.end() ? found->second
                                                  : kUnknownDim);
  }
  if (shape.size() > kMostRank) return {};
  return Gives(std::move(shape));
}

// com.microsoft: MultiHeadAttention, GroupQueryAttention: [batch, sequence,
// hidden], and the keys and values for the next run.
Inferred Attending(const NodeView& node) {
  const Shape* const query = node.Input(0);
  return {.outputs = {query != nullptr && query->size() == 3
                          ? *query
                          : Shape(3, kUnknownDim),
                      Shape(4, kUnknownDim), Shape(4, kUnknownDim)}};
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

Inferred Recurrent(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(2);
  if (data == nullptr || weight == nullptr || data->size() != 3 ||
      weight->size() != 3) {
    return {.outputs = {Shape(4, kUnknownDim), Shape(3, kUnknownDim),
                        Shape(3, kUnknownDim)}};
  }
  const std::int64_t hidden = (*weight)[2];
  const std::int64_t directions = (*weight)[0];
  return {.outputs = {Shape{(*data)[0], directions, (*data)[1], hidden},
                      Shape{directions, (*data)[1], hidden},
                      Shape{directions, (*data)[1], hidden}}};
}

}  // namespace onnx_tag::sizes
