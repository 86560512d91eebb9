#include <algorithm>
#include <map>
#include <string>

#include "base/letters.h"
#include "base/lists.h"
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
  auto sizes = EinsumSizesOf(node);
  return !sizes || sizes->result.size() > kMostRank
             ? Facts()
             : Gives(std::move(sizes->result));
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

std::optional<EinsumTerms> ReadEinsum(std::string_view equation) {
  EinsumTerms terms = {.operands = {""}, .result = ""};
  bool has_result = false;
  std::map<char, int> uses;
  while (!equation.empty()) {
    std::string& term = has_result ? terms.result : terms.operands.back();
    std::size_t length = 1;
    if (equation.starts_with("->") && !has_result) {
      has_result = true;
      length = 2;
    } else if (equation[0] == ',' && !has_result) {
      terms.operands.emplace_back();
    } else if (IsLetter(equation[0])) {
      term += equation[0];
      ++uses[equation[0]];
    } else if (equation.starts_with("...") &&
               term.find(EinsumTerms::kEllipsis) == std::string::npos) {
      term += EinsumTerms::kEllipsis;
      uses[EinsumTerms::kEllipsis] = 1;  // however often it occurs
      length = 3;
    } else if (equation[0] != ' ') {
      return std::nullopt;
    }
    equation.remove_prefix(length);
  }
  if (!has_result) {
    // What occurs once, "..." first, then in the order of the alphabet.
    for (const auto& [letter, count] : uses) {
      if (count == 1) terms.result += letter;
    }
  }
  return terms;
}

std::optional<EinsumSizes> EinsumSizesOf(const NodeView& node) {
  const auto terms = ReadEinsum(node.attributes().Get("equation").text);
  if (!terms || terms->operands.size() < node.inputs()) return std::nullopt;
  std::map<char, Dim> letters;
  Shape ellipsis;  // the dimensions that "..." stands for
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Shape* const shape = node.Input(i);
    const std::string& term = terms->operands[i];
    const std::size_t named = CountIn(term, IsLetter);
    if (shape == nullptr || named > shape->size()) return std::nullopt;
    auto axis = shape->begin();
    for (const char letter : term) {
      if (letter == EinsumTerms::kEllipsis) {
        const auto begin = axis;
        axis += static_cast<std::ptrdiff_t>(shape->size() - named);
        const auto both = node.Broadcast(ellipsis, Shape(begin, axis));
        if (!both) return std::nullopt;
        ellipsis = *both;
      } else {
        const auto [known, added] = letters.try_emplace(letter, *axis);
        if (!added) known->second = node.BroadcastDim(known->second, *axis);
        ++axis;
      }
    }
  }
  EinsumSizes sizes;
  for (const char letter : terms->result) {
    if (letter == EinsumTerms::kEllipsis) {
      sizes.result = With(std::move(sizes.result), ellipsis);
      continue;
    }
    const auto found = letters.find(letter);
    if (found == letters.end()) return std::nullopt;
    sizes.result.push_back(found->second);
  }
  sizes.volume = node.Product(ellipsis);
  for (const auto& [letter, size] : letters) {
    sizes.volume = node.formulas().Times(sizes.volume, size);
  }
  return sizes;
}

}  // namespace onnx_tag::sizes
