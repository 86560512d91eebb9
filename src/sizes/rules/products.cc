#include <algorithm>

#include "sizes/einsum.h"
#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

// Where the second matrix is: behind a scale and zero point if quantized.
std::size_t RightOperand(const NodeView& node) {
  const std::size_t right =
      node.row().FindInput({Operand::kQuantized, Operand::kWeight});
  return right == Operator::kMostInputs ? 1 : right;
}

}  // namespace

// In the last two dimensions.
Facts MatrixProduct(const NodeView& node) {
  const Shape* const a = node.Input(0);
  const Shape* const b = node.Input(RightOperand(node));
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return {};
  Shape left = *a;
  Shape right = *b;
  // FusedMatMul may swap the last two axes, or the first two but the batch.
  const auto transpose = [&](Shape& shape, const char* matrix,
                             const char* batch) {
    if (shape.size() < 2) return;
    if (node.attributes().Int(batch, 0) != 0) {
      std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
    }
    if (node.attributes().Int(matrix, 0) != 0) {
      std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    }
  };
  if (node.row().kinds.HasAnyOf(OpKind::kFused)) {
    transpose(left, "transA", "transBatchA");
    transpose(right, "transB", "transBatchB");
  }
  const bool row = left.size() == 1;
  const bool column = right.size() == 1;
  if (row) left.insert(left.begin(), 1);
  if (column) right.push_back(1);
  node.SameDim(left.back(), right[right.size() - 2]);
  auto shape = node.Broadcast(Shape(left.begin(), left.end() - 2),
                              Shape(right.begin(), right.end() - 2));
  if (!shape) return {};
  if (!row) shape->push_back(left[left.size() - 2]);
  if (!column) shape->push_back(right.back());
  return Gives(std::move(*shape));
}

Facts GemmProduct(const NodeView& node) {
  const Shape* const a = node.Input(0);
  const Shape* const b = node.Input(RightOperand(node));
  if ((a != nullptr && a->size() != 2) || (b != nullptr && b->size() != 2)) {
    return {};
  }
  if (a == nullptr || b == nullptr) return GivesRank(2);
  const bool left = node.attributes().Int("transA", 0) != 0;
  const bool right = node.attributes().Int("transB", 0) != 0;
  node.SameDim((*a)[left ? 0 : 1], (*b)[right ? 1 : 0]);
  return Gives({(*a)[left ? 1 : 0], (*b)[right ? 0 : 1]});
}

Facts BlockProduct(const NodeView& node) {  // MatMulNBits, MatMulBnb4
  const Shape* const a = node.Input(0);
  if (a == nullptr || a->empty() || !node.attributes().Has("N")) return {};
  Shape shape = *a;
  shape.back() = node.attributes().Int("N", 0);
  return Gives(std::move(shape));
}

Facts EinsumProduct(const NodeView& node) {
  const EinsumSizes sizes(node);
  if (!sizes.known()) return {};
  Shape shape = sizes.result();
  return shape.size() > kMostRank ? Facts() : Gives(std::move(shape));
}

Facts Recurrent(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(2);
  const bool batch_first = node.attributes().Int("layout", 0) != 0;
  Dim hidden, directions;
  if (node.attributes().Has("hidden_size")) {
    hidden = node.attributes().Int("hidden_size", 0);
  } else if (weight != nullptr && weight->size() == 3) {
    // ONNX has [directions, gates · hidden, hidden], dynamic quantization
    // [directions, hidden, gates · hidden].
    const bool quantized = node.op() == Op::kDynamicQuantizeLSTM;
    hidden = (*weight)[quantized ? 1 : 2];
  }
  const std::string_view direction = node.attributes().Text("direction");
  directions = direction == "bidirectional" ? 2 : 1;
  Dim steps, batch;
  if (data != nullptr && data->size() == 3) {
    steps = (*data)[batch_first ? 1 : 0];
    batch = (*data)[batch_first ? 0 : 1];
  }
  Facts facts(3);
  if (batch_first) {
    facts[0].shape = Shape{batch, steps, directions, hidden};
    facts[1].shape = facts[2].shape = Shape{batch, directions, hidden};
  } else {
    facts[0].shape = Shape{steps, directions, batch, hidden};
    facts[1].shape = facts[2].shape = Shape{directions, batch, hidden};
  }
  return facts;
}

}  // namespace onnx_tag::sizes
