#include <bit>

#include "uses/sizes/rules/operand_sizes.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Dim InputElements(const NodeView& node, std::size_t i) {
  const Shape* const shape = node.Input(i);
  return shape == nullptr ? kUnknownDim : node.Product(*shape);
}

Dim OutputElements(const NodeView& node) {
  for (std::size_t i = 0; i < node.outputs(); ++i) {
    if (!node.HasOutput(i)) continue;
    const Shape* const shape = node.Output(i);
    return shape == nullptr ? kUnknownDim : node.Product(*shape);
  }
  return kUnknownDim;
}

// One addition for each output, if there is a bias.
Dim WithBias(const NodeView& node, Dim flops, Dim outputs) {
  const std::size_t bias = node.row().FindInput({Operand::kBias});
  return node.Has(bias) ? node.formulas().Plus(flops, outputs) : flops;
}

Dim CostOfProduct(const NodeView& node) {
  const bool gemm = Describe(node.row().like).name == "Gemm";
  const bool flagged = gemm || node.row().kinds.HasAnyOf(OpKind::kFused);
  const auto transposed = [&](const char* flag) {
    return flagged && node.attributes().Int(flag, 0) != 0;
  };
  Dim depth;  // what is summed over
  if (node.attributes().Has("K")) {
    depth = node.attributes().Int("K", 0);
  } else if (const Shape* const a = node.Input(0);
             a != nullptr && !a->empty()) {
    depth = (*a)[a->size() - (transposed("transA") && a->size() > 1 ? 2 : 1)];
  }
  const Shape* const b = node.Input(node.WeightInput());
  if (!depth.IsNumber() && b != nullptr && !b->empty()) {
    const Dim other = b->size() == 1
                          ? (*b)[0]
                          : (*b)[b->size() - (transposed("transB") ? 1 : 2)];
    if (!depth.known() || other.IsNumber()) depth = other;
  }
  Formulas& formulas = node.formulas();
  const Dim outputs = OutputElements(node);
  return WithBias(node, formulas.Times(formulas.Times(outputs, depth), 2),
                  outputs);
}

Dim CostOfConvolution(const NodeView& node, bool transposed) {
  // A weight is [out, in / group, kernel...]; transposed [in, out / group,
  // ...].
  const Shape* const weight = node.Input(node.WeightInput());
  if (weight == nullptr || weight->size() < 2) return kUnknownDim;
  Formulas& formulas = node.formulas();
  const Dim outputs = OutputElements(node);
  const Dim places = transposed ? InputElements(node, 0) : outputs;
  const Dim flops =
      formulas.Times(formulas.Times(places, node.Product(*weight, 1)), 2);
  return WithBias(node, flops, outputs);
}

Dim CostOfWindow(const NodeView& node) {
  const auto kernel = node.attributes().IntList("kernel_shape");
  if (!kernel) return kUnknownDim;
  return node.formulas().Times(
      OutputElements(node),
      node.Product(Shape(kernel->begin(), kernel->end())));
}

// The products of the gates; what is done per element is small beside them.
Dim CostOfRecurrent(const NodeView& node) {
  const Shape* const data = node.Input(0);    // [steps, batch, in]
  const Shape* const weight = node.Input(1);  // [directions, gates · out, in]
  const Shape* const states =
      node.Output(0);  // [steps, directions, batch, out]
  if (data == nullptr || data->size() != 3) return kUnknownDim;
  Formulas& formulas = node.formulas();
  Dim directions = 1;
  if (node.attributes().Text("direction") == "bidirectional") directions = 2;
  Dim hidden;
  if (node.attributes().Has("hidden_size")) {
    hidden = node.attributes().Int("hidden_size", 0);
  } else if (states != nullptr && !states->empty()) {
    hidden = states->back();
  }
  const Op plain = node.row().like;
  const std::int64_t gates = plain == Op::kLSTM ? 4 : plain == Op::kGRU ? 3 : 1;
  Dim in = (*data)[2];
  if (!in.known() && weight != nullptr && weight->size() == 3) {
    in = weight->back();
  }
  Dim flops = formulas.Times((*data)[0], (*data)[1]);
  flops = formulas.Times(flops, formulas.Times(directions, 2 * gates));
  flops = formulas.Times(flops, hidden);
  return formulas.Times(flops, formulas.Plus(in, hidden));
}

Dim CostOfEinsum(const NodeView& node) {
  const EinsumSizes sizes(node);
  if (!sizes.known()) return kUnknownDim;
  if (node.inputs() > 1) return node.formulas().Times(sizes.volume(), 2);
  // Of one operand: a sum, or only another order.
  return sizes.volume() == node.Product(sizes.result()) ? Dim(0)
                                                        : sizes.volume();
}

// Scores and context: queries times keys, and that times values.
Dim CostOfAttention(const NodeView& node) {
  const auto sizes = AttentionSizesOf(node);
  if (!sizes) return kUnknownDim;
  Formulas& formulas = node.formulas();
  const Dim scores =
      formulas.Times(formulas.Times(sizes->batch, sizes->heads),
                     formulas.Times(sizes->length, sizes->total));
  return formulas.Times(formulas.Times(scores, 2),
                        formulas.Plus(sizes->key_size, sizes->value_size));
}

// For each token: the state is changed and read, both products of its size.
Dim CostOfLinearAttention(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const Shape* const value = node.Input(2);
  const std::int64_t heads = node.attributes().Int("kv_num_heads", 0);
  if (query == nullptr || query->size() != 3 || value == nullptr ||
      value->size() != 3 || heads <= 0) {
    return kUnknownDim;
  }
  Formulas& formulas = node.formulas();
  const Dim value_size = formulas.Floor((*value)[2], heads);
  return formulas.Times(formulas.Times(node.Product(*query), value_size), 4);
}

// com.microsoft: the projections of queries, keys and values, then as above.
Dim CostOfPackedAttention(const NodeView& node) {
  const Shape* const data = node.Input(0);    // [batch, sequence, in]
  const Shape* const weight = node.Input(1);  // [in, 3 · hidden]
  if (data == nullptr || data->empty() || weight == nullptr ||
      weight->size() != 2) {
    return kUnknownDim;
  }
  Formulas& formulas = node.formulas();
  const Dim columns = (*weight)[1];
  Dim flops = formulas.Times(formulas.Times(node.Product(*data), columns), 2);
  const Shape* const present = node.Output(1);
  if (data->size() == 3) {
    const Dim keys =
        present != nullptr && present->size() == 5 ? (*present)[3] : (*data)[1];
    const Dim scores =
        formulas.Times(formulas.Times((*data)[0], (*data)[1]), keys);
    flops = formulas.Plus(flops, formulas.Times(formulas.Times(scores, 4),
                                                formulas.Floor(columns, 3)));
  }
  return flops;
}

// A fast transform: 5 · n · log2(n) for n numbers.
Dim CostOfFourier(const NodeView& node) {
  const Shape* const result = node.Output(0);
  if (result == nullptr || result->size() < 2) return kUnknownDim;
  const Dim length = (*result)[result->size() - 2];
  if (!length.IsNumber() || length.number() <= 0) return kUnknownDim;
  const auto levels =
      std::bit_width(static_cast<std::uint64_t>(length.number()));
  return node.formulas().Times(OutputElements(node),
                               5 * static_cast<std::int64_t>(levels));
}

}  // namespace

Dim CountFlops(const NodeView& node) {
  const Operator& row = node.row();
  const CostRule rule =
      row.cost == CostRule::kNone ? Describe(row.like).cost : row.cost;
  const auto per_output = [&](std::int64_t factor) {
    return node.formulas().Times(OutputElements(node), factor);
  };
  const auto per_input = [&](std::int64_t factor) {
    return node.formulas().Times(InputElements(node, 0), factor);
  };
  switch (rule) {
    case CostRule::kNone:
      return kUnknownDim;
    case CostRule::kFree:
      return 0;
    case CostRule::kPerOutput:
      return per_output(1);
    case CostRule::kPerOutput2:
      return per_output(2);
    case CostRule::kPerOutput5:
      return per_output(5);
    case CostRule::kPerOutput6:
      return per_output(6);
    case CostRule::kPerOutput7:
      return per_output(7);
    case CostRule::kPerOutput8:
      return per_output(8);
    case CostRule::kPerInput:
      return per_input(1);
    case CostRule::kPerInput2:
      return per_input(2);
    case CostRule::kPerInput5:
      return per_input(5);
    case CostRule::kProduct:
      return CostOfProduct(node);
    case CostRule::kConvolution:
      return CostOfConvolution(node, false);
    case CostRule::kTransposedConvolution:
      return CostOfConvolution(node, true);
    case CostRule::kWindow:
      return CostOfWindow(node);
    case CostRule::kRecurrent:
      return CostOfRecurrent(node);
    case CostRule::kEinsum:
      return CostOfEinsum(node);
    case CostRule::kAttention:
      return CostOfAttention(node);
    case CostRule::kLinearAttention:
      return CostOfLinearAttention(node);
    case CostRule::kPackedAttention:
      return CostOfPackedAttention(node);
    case CostRule::kFourier:
      return CostOfFourier(node);
  }
  return kUnknownDim;
}

}  // namespace onnx_tag::sizes
