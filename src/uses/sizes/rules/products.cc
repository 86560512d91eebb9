#include <algorithm>
#include <map>
#include <string>

#include "base/letters.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace shape {

// In the last two dimensions.
Facts MatrixProduct(const NodeView& node, const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return {};
  Shape left = a;
  Shape right = b;
  // FusedMatMul may swap the last two axes, or the first two but the batch.
  const auto transpose = [&](Shape& shape, const char* matrix,
                             const char* batch) {
    if (shape.size() < 2) return;
    if (node.Int(batch, 0) != 0) {
      std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
    }
    if (node.Int(matrix, 0) != 0) {
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

Facts Gemm(const NodeView& node) {
  const Shape* const a = node.Input(0);
  const Shape* const b = node.Input(node.WeightInput());
  if ((a != nullptr && a->size() != 2) || (b != nullptr && b->size() != 2)) {
    return {};
  }
  if (a == nullptr || b == nullptr) return GivesRank(2);
  const bool left = node.Flag("transA");
  const bool right = node.Flag("transB");
  node.SameDim((*a)[left ? 0 : 1], (*b)[right ? 1 : 0]);
  return Gives({(*a)[left ? 1 : 0], (*b)[right ? 0 : 1]});
}

Facts BlockProduct(const NodeView& node,
                   const Shape& a) {  // MatMulNBits, MatMulBnb4
  return a.empty() || !node.attributes().Has("N") ? Facts()
                                                  : GivesLast(a, node.Int("N"));
}

Facts Einsum(const NodeView& node) {
  const EinsumSizes sizes(node);
  if (!sizes.known()) return {};
  Shape shape = sizes.result();
  return shape.size() > kMostRank ? Facts() : Gives(std::move(shape));
}

Facts Recurrent(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(2);
  const bool batch_first = node.Flag("layout");
  Dim hidden;
  if (node.attributes().Has("hidden_size")) {
    hidden = node.Int("hidden_size");
  } else if (weight != nullptr && weight->size() == 3) {
    // ONNX has [directions, gates · hidden, hidden], dynamic quantization
    // [directions, hidden, gates · hidden].
    const bool quantized = node.op() == Op::kDynamicQuantizeLSTM;
    hidden = (*weight)[quantized ? 1 : 2];
  }
  const Dim directions =
      node.attributes().Get("direction").text == "bidirectional" ? 2 : 1;
  Dim steps, batch;
  if (data != nullptr && data->size() == 3) {
    steps = (*data)[batch_first ? 1 : 0];
    batch = (*data)[batch_first ? 0 : 1];
  }
  const Fact last{.shape = batch_first ? Shape{batch, directions, hidden}
                                       : Shape{directions, batch, hidden}};
  return {{.shape = batch_first ? Shape{batch, steps, directions, hidden}
                                : Shape{steps, directions, batch, hidden}},
          last,
          last};
}

}  // namespace shape

EinsumSizes::EinsumSizes(const NodeView& node) {
  std::string equation;
  for (const char c : node.attributes().Get("equation").text) {
    if (c != ' ') equation += c;
  }
  const std::size_t arrow = equation.find("->");
  const std::string inputs = equation.substr(0, arrow);
  std::map<char, Dim> letters;
  std::map<char, int> uses;
  Shape ellipsis;  // the dimensions that "..." stands for
  std::size_t begin = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Shape* const shape = node.Input(i);
    if (shape == nullptr || begin > inputs.size()) return;
    const std::size_t end = std::min(inputs.find(',', begin), inputs.size());
    const std::string term = inputs.substr(begin, end - begin);
    begin = end + 1;
    const auto named = static_cast<std::size_t>(
        std::count_if(term.begin(), term.end(), IsLetter));
    if (named > shape->size()) return;
    std::size_t axis = 0;
    for (std::size_t at = 0; at < term.size();) {
      if (IsLetter(term[at])) {
        if (axis >= shape->size()) return;
        const Dim here = (*shape)[axis++];
        const auto [known, added] = letters.try_emplace(term[at], here);
        if (!added) known->second = node.BroadcastDim(known->second, here);
        ++uses[term[at++]];
      } else if (term.compare(at, 3, "...") == 0) {
        const std::size_t count = shape->size() - named;
        const Shape part(
            shape->begin() + static_cast<std::ptrdiff_t>(axis),
            shape->begin() + static_cast<std::ptrdiff_t>(axis + count));
        const auto both = node.Broadcast(ellipsis, part);
        if (!both) return;
        ellipsis = *both;
        axis += count;
        at += 3;
      } else {
        return;
      }
    }
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = equation.substr(arrow + 2);
  } else {
    // Letters that occur once, in the order of the alphabet.
    if (equation.find('.') != std::string::npos) result = "...";
    for (const auto& [letter, count] : uses) {
      if (count == 1) result += letter;
    }
  }
  for (std::size_t at = 0; at < result.size();) {
    if (result.compare(at, 3, "...") == 0) {
      result_.insert(result_.end(), ellipsis.begin(), ellipsis.end());
      at += 3;
      continue;
    }
    const auto found = letters.find(result[at++]);
    if (found == letters.end()) return;
    result_.push_back(found->second);
  }
  volume_ = node.Product(ellipsis);
  for (const auto& [letter, size] : letters) {
    volume_ = node.formulas().Times(volume_, size);
  }
  known_ = true;
}

}  // namespace onnx_tag::sizes
