#include "uses/sizes/rules/rules.h"

#include <bit>

namespace onnx_tag::sizes {
namespace {

Dim Elements(const NodeView& node, const Shape* shape) {
  return shape == nullptr ? kUnknownDim : node.Product(*shape);
}

Dim OutputElements(const NodeView& node) {
  std::size_t i = 0;
  while (i < node.outputs() && !node.HasOutput(i)) ++i;
  return Elements(node, node.Output(i));
}

// One addition for each output, if there is a bias.
Dim WithBias(const NodeView& node, Dim flops, Dim outputs) {
  const std::size_t bias = node.row().FindInput({Operand::kBias});
  return node.Has(bias) ? node.formulas().Plus(flops, outputs) : flops;
}

// A weight is [out, in / group, kernel...]; transposed [in, out / group, ...].
Dim ConvolutionOver(const NodeView& node, Dim places) {
  const Shape* const weight = node.Input(node.WeightInput());
  if (weight == nullptr || weight->size() < 2) return kUnknownDim;
  const Dim each = node.Product(std::span(*weight).subspan(1));
  return WithBias(node, node.formulas().Times(places, each, 2),
                  OutputElements(node));
}

}  // namespace

namespace cost {

Dim Free(const NodeView&) { return 0; }

template <int kTimes = 1>
Dim PerOutput(const NodeView& node) {
  return node.formulas().Times(OutputElements(node), kTimes);
}

template <int kTimes = 1>
Dim PerInput(const NodeView& node) {
  return node.formulas().Times(Elements(node, node.Input(0)), kTimes);
}

Dim Product(const NodeView& node) {
  const bool gemm = node.row().like == Op::kGemm;
  const bool flagged = gemm || node.row().kinds.HasAnyOf(OpKind::kFused);
  const auto transposed = [&](const char* flag) {
    return flagged && node.Int(flag, 0) != 0;
  };
  Dim depth;  // what is summed over
  if (node.attributes().Has("K")) {
    depth = node.Int("K");
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
  return WithBias(node, formulas.Times(outputs, depth, 2), outputs);
}

Dim Convolution(const NodeView& node) {
  return ConvolutionOver(node, OutputElements(node));
}

Dim TransposedConvolution(const NodeView& node) {
  return ConvolutionOver(node, Elements(node, node.Input(0)));
}

Dim Window(const NodeView& node) {
  const auto kernel = node.attributes().IntList("kernel_shape");
  if (!kernel) return kUnknownDim;
  return node.formulas().Times(
      OutputElements(node),
      node.Product(Shape(kernel->begin(), kernel->end())));
}

// The products of the gates; what is done per element is small beside them.
Dim Recurrent(const NodeView& node) {
  const Shape* const data = node.Input(0);    // [steps, batch, in]
  const Shape* const weight = node.Input(1);  // [directions, gates · out, in]
  if (data == nullptr || data->size() != 3) return kUnknownDim;
  // The states are [steps, directions, batch, out].
  const Dim hidden = node.attributes().Has("hidden_size")
                         ? Dim(node.Int("hidden_size"))
                         : SizeIn(node.Output(0), -1);
  const Op plain = node.row().like;
  const std::int64_t gates = plain == Op::kLSTM ? 4 : plain == Op::kGRU ? 3 : 1;
  const std::int64_t directions =
      node.attributes().Get("direction").text == "bidirectional" ? 2 : 1;
  const bool known =
      (*data)[2].known() || weight == nullptr || weight->size() != 3;
  const Dim in = known ? (*data)[2] : weight->back();
  Formulas& formulas = node.formulas();
  return formulas.Times((*data)[0], (*data)[1], directions * 2 * gates, hidden,
                        formulas.Plus(in, hidden));
}

Dim Einsum(const NodeView& node) {
  const auto sizes = EinsumSizesOf(node);
  if (!sizes) return kUnknownDim;
  if (node.inputs() > 1) return node.formulas().Times(sizes->volume, 2);
  // Of one operand: a sum, or only another order.
  return sizes->volume == node.Product(sizes->result) ? Dim(0) : sizes->volume;
}

// Scores and context: queries times keys, and that times values.
Dim Attention(const NodeView& node) {
  const auto sizes = AttentionSizesOf(node);
  if (!sizes) return kUnknownDim;
  Formulas& formulas = node.formulas();
  return formulas.Times(sizes->batch, sizes->heads,
                        formulas.Times(sizes->length, sizes->total), 2,
                        formulas.Plus(sizes->key_size, sizes->value_size));
}

// For each token: the state is changed and read, both products of its size.
Dim LinearAttention(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const Shape* const value = node.Input(2);
  const std::int64_t heads = node.Int("kv_num_heads");
  if (query == nullptr || query->size() != 3 || value == nullptr ||
      value->size() != 3 || heads <= 0) {
    return kUnknownDim;
  }
  Formulas& formulas = node.formulas();
  return formulas.Times(node.Product(*query),
                        formulas.Floor((*value)[2], heads), 4);
}

// com.microsoft: the projections of queries, keys and values, then as above.
Dim PackedAttention(const NodeView& node) {
  const Shape* const data = node.Input(0);    // [batch, sequence, in]
  const Shape* const weight = node.Input(1);  // [in, 3 · hidden]
  if (data == nullptr || data->empty() || weight == nullptr ||
      weight->size() != 2) {
    return kUnknownDim;
  }
  Formulas& formulas = node.formulas();
  const Dim columns = (*weight)[1];
  const Dim flops = formulas.Times(node.Product(*data), columns, 2);
  if (data->size() != 3) return flops;
  const Shape* const present = node.Output(1);
  const Dim keys =
      present != nullptr && present->size() == 5 ? (*present)[3] : (*data)[1];
  const Dim hidden = formulas.Floor(columns, 3);
  return formulas.Plus(flops,
                       formulas.Times((*data)[0], (*data)[1], keys, 4, hidden));
}

// A fast transform: 5 · n · log2(n) for n numbers.
Dim Fourier(const NodeView& node) {
  const Dim length = SizeIn(node.Output(0), -2);
  if (!length.IsNumber() || length.number() <= 0) return kUnknownDim;
  const auto levels =
      std::bit_width(static_cast<std::uint64_t>(length.number()));
  return node.formulas().Times(OutputElements(node),
                               5 * static_cast<std::int64_t>(levels));
}

}  // namespace cost

namespace type {
namespace {

std::int32_t Attribute(const NodeView& node, std::int32_t otherwise) {
  for (const char* const name : {"dtype", "output_datatype"}) {
    const std::int64_t type = node.Int(name, 0);
    if (type > 0) return static_cast<std::int32_t>(type);
  }
  return otherwise;
}

}  // namespace

template <int kInput>
std::int32_t Input(const NodeView& node) {
  return node.InputType(kInput);
}
std::int32_t Bool(const NodeView&) { return kBool; }
std::int32_t Int32(const NodeView&) { return kInt32; }
std::int32_t Int64(const NodeView&) { return kInt64; }
std::int32_t To(const NodeView& node) {
  return static_cast<std::int32_t>(node.Int("to"));
}
std::int32_t DataType(const NodeView& node) { return Attribute(node, kFloat); }
std::int32_t DataTypeInt32(const NodeView& node) {
  return Attribute(node, kInt32);
}
std::int32_t DataTypeOrFirst(const NodeView& node) {
  return Attribute(node, node.InputType(0));
}
// Without a zero point the result is what `output_dtype` says, or uint8.
std::int32_t Quantized(const NodeView& node) {
  return node.Has(2)
             ? node.InputType(2)
             : static_cast<std::int32_t>(node.Int("output_dtype", kUint8));
}

}  // namespace type

namespace {

// The rule for a node the shapes of whose inputs `kInputs` are known.
template <auto kRule, std::size_t... kInputs>
Facts Known(const NodeView& node) {
  return (... && (node.Input(kInputs) != nullptr))
             ? kRule(node, *node.Input(kInputs)...)
             : Facts();
}

constexpr Rules kRules[] = {
    {},  // Op::kNone
#include "generated/size_rule_rows.inc"
};

// The rules for shape and type: its own, or those of the plain operator.
const Rules& ShapeRulesOf(const NodeView& node) {
  const Rules& own = RulesOf(node.op());
  return own.shape == nullptr ? RulesOf(node.row().like) : own;
}

}  // namespace

const Rules& RulesOf(Op op) { return kRules[Index(op)]; }

std::int32_t FirstType(const NodeView& node) {
  const TypeRule rule = ShapeRulesOf(node).type;
  return rule == nullptr ? node.InputType(0) : rule(node);
}

Facts Infer(const NodeView& node) {
  const ShapeRule rule = ShapeRulesOf(node).shape;
  if (rule == nullptr) return {};
  Facts facts = rule(node);
  facts.resize(node.outputs());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    Fact& fact = facts[i];
    if (fact.type == kUndefined) {
      fact.type = i == 0 ? FirstType(node) : node.InputType(0);
    }
    if (fact.numbers && fact.numbers->elements.size() > kMostElements) {
      fact.numbers.reset();
    }
  }
  return facts;
}

Dim CountFlops(const NodeView& node) {
  const CostRule own = RulesOf(node.op()).cost;
  const CostRule rule = own == nullptr ? RulesOf(node.row().like).cost : own;
  return rule == nullptr ? kUnknownDim : rule(node);
}

}  // namespace onnx_tag::sizes
