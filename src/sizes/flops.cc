#include "sizes/flops.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "sizes/attributes.h"
#include "sizes/einsum.h"

namespace onnx_tag::sizes {
namespace {

// More than any machine does in a year; a count beyond it is a mistake.
constexpr double kMost = 1e18;

// Counts of one node; double holds them exactly up to 2^53.
class NodeFlops {
 public:
  NodeFlops(const Model& model, const Shapes& shapes, NodeId node)
      : shapes_(shapes),
        inputs_(model.Inputs(node)),
        outputs_(model.Outputs(node)),
        op_(model.OpType(node)),
        attributes_(model.NodeBytes(node)) {}

  std::optional<double> Count() const;

 private:
  const Shape* Input(std::size_t i) const {
    if (!Has(i)) return nullptr;
    const std::optional<Shape>& shape = shapes_.Of(inputs_[i]);
    return shape ? &*shape : nullptr;
  }
  bool Has(std::size_t i) const {
    return i < inputs_.size() && inputs_[i] != kNo<ValueId>;
  }
  std::optional<double> InputElements(std::size_t i) const {
    if (!Has(i)) return std::nullopt;
    const auto elements = shapes_.Elements(inputs_[i]);
    return elements ? std::optional(static_cast<double>(*elements))
                    : std::nullopt;
  }
  std::optional<double> OutputElements() const {
    for (const ValueId output : outputs_) {
      if (output == kNo<ValueId>) continue;
      const auto elements = shapes_.Elements(output);
      return elements ? std::optional(static_cast<double>(*elements))
                      : std::nullopt;
    }
    return std::nullopt;
  }
  static std::optional<double> Times(std::optional<double> count,
                                     std::optional<double> by) {
    if (!count || !by) return std::nullopt;
    return *count * *by;
  }
  // The product of the dimensions from `first` on.
  static std::optional<double> Volume(const Shape* shape, std::size_t first) {
    if (shape == nullptr || shape->size() < first) return std::nullopt;
    double volume = 1;
    for (std::size_t i = first; i < shape->size(); ++i) {
      if ((*shape)[i] == kUnknownDim) return std::nullopt;
      volume *= static_cast<double>((*shape)[i]);
    }
    return volume;
  }

  std::optional<double> Product(std::size_t right, bool bias) const;
  std::optional<double> Convolution(std::size_t weight, bool bias) const;
  std::optional<double> TransposedConvolution() const;
  std::optional<double> Pooling() const;
  std::optional<double> Recurrent(double gates) const;
  std::optional<double> Einsum() const;
  std::optional<double> PackedAttention() const;
  std::optional<double> ScaledProduct() const;

  const Shapes& shapes_;
  std::span<const ValueId> inputs_;
  std::span<const ValueId> outputs_;
  std::string_view op_;
  Attributes attributes_;
};

enum class Kind {
  kMoves,      // no arithmetic
  kPerOutput,  // `factor` operations per element it gives
  kPerInput,   // `factor` operations per element it reads
  kProduct,    // MatMul
  kGemm,
  kConvolution,
  kTransposed,
  kPooling,
  kRecurrent,  // `factor` gates
  kEinsum,
  kPackedAttention,
  kScaledProduct,
};

struct Cost {
  Kind kind;
  double factor = 1;
  std::size_t weight = 1;  // the input that holds the weight
};

const std::unordered_map<std::string_view, Cost>& Costs() {
  static const auto* const costs = [] {
    auto* const table = new std::unordered_map<std::string_view, Cost>;
    const auto add = [&](Cost cost,
                         std::initializer_list<std::string_view> ops) {
      for (const std::string_view op : ops) table->emplace(op, cost);
    };
    add({Kind::kMoves}, {"And",
                         "ArgMax",
                         "ArgMin",
                         "Cast",
                         "CastLike",
                         "Compress",
                         "Concat",
                         "Constant",
                         "ConstantOfShape",
                         "DepthToSpace",
                         "Dropout",
                         "Equal",
                         "Expand",
                         "EyeLike",
                         "Flatten",
                         "Gather",
                         "GatherElements",
                         "GatherND",
                         "Greater",
                         "GreaterOrEqual",
                         "Identity",
                         "If",
                         "IsInf",
                         "IsNaN",
                         "Less",
                         "LessOrEqual",
                         "Loop",
                         "MaxUnpool",
                         "NonMaxSuppression",
                         "NonZero",
                         "Not",
                         "OneHot",
                         "Optional",
                         "Or",
                         "Pad",
                         "RandomNormal",
                         "RandomNormalLike",
                         "RandomUniform",
                         "RandomUniformLike",
                         "Range",
                         "Reshape",
                         "Scan",
                         "ScatterElements",
                         "ScatterND",
                         "SequenceAt",
                         "SequenceConstruct",
                         "SequenceEmpty",
                         "SequenceInsert",
                         "Shape",
                         "Size",
                         "Slice",
                         "SpaceToDepth",
                         "Split",
                         "SplitToSequence",
                         "Squeeze",
                         "Tile",
                         "TopK",
                         "Transpose",
                         "Trilu",
                         "Unique",
                         "Unsqueeze",
                         "Where",
                         "Xor"});
    add({Kind::kPerOutput}, {"Abs",        "Acos",        "Add",
                             "Asin",       "Atan",        "BitShift",
                             "BitwiseAnd", "BitwiseNot",  "BitwiseOr",
                             "BitwiseXor", "Ceil",        "Celu",
                             "Clip",       "Cos",         "CumSum",
                             "Div",        "Elu",         "Erf",
                             "Exp",        "FastGelu",    "Floor",
                             "Gelu",       "HardSigmoid", "HardSwish",
                             "LeakyRelu",  "Log",         "Max",
                             "Mean",       "Min",         "Mish",
                             "Mod",        "Mul",         "Neg",
                             "PRelu",      "Pow",         "QuickGelu",
                             "Reciprocal", "Relu",        "Round",
                             "Selu",       "Sigmoid",     "Sign",
                             "Silu",       "Sin",         "Sinh",
                             "Softplus",   "Softsign",    "Sqrt",
                             "Sub",        "Sum",         "Swish",
                             "Tan",        "Tanh",        "ThresholdedRelu",
                             "Resize",     "Upsample"});
    add({Kind::kPerOutput, 2},
        {"BatchNormalization", "BiasGelu", "DequantizeLinear",
         "DynamicQuantizeLinear", "QuantizeLinear", "RotaryEmbedding"});
    add({Kind::kPerOutput, 5},
        {"LogSoftmax", "LpNormalization", "RMSNormalization",
         "SimplifiedLayerNormalization", "Softmax"});
    add({Kind::kPerOutput, 6}, {"SkipSimplifiedLayerNormalization"});
    add({Kind::kPerOutput, 7},
        {"GroupNorm", "GroupNormalization", "InstanceNormalization",
         "LayerNormalization", "MeanVarianceNormalization"});
    add({Kind::kPerOutput, 8}, {"SkipLayerNormalization"});
    add({Kind::kPerInput},
        {"GlobalAveragePool", "GlobalMaxPool", "ReduceL1", "ReduceMax",
         "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"});
    add({Kind::kPerInput, 2}, {"GlobalLpPool", "ReduceL2", "ReduceLogSum",
                               "ReduceLogSumExp", "ReduceSumSquare"});
    add({Kind::kProduct},
        {"FusedMatMul", "MatMul", "MatMulInteger", "MatMulIntegerToFloat",
         "DynamicQuantizeMatMul", "MatMulNBits"});
    add({Kind::kProduct, 1, 3}, {"QLinearMatMul"});
    add({Kind::kGemm}, {"FusedGemm", "Gemm"});
    add({Kind::kGemm, 1, 3}, {"QGemm"});
    add({Kind::kConvolution}, {"Conv", "ConvInteger", "FusedConv"});
    add({Kind::kConvolution, 1, 3}, {"QLinearConv"});
    add({Kind::kTransposed}, {"ConvTranspose"});
    add({Kind::kPooling}, {"AveragePool", "LpPool", "MaxPool"});
    add({Kind::kRecurrent, 4}, {"LSTM"});
    add({Kind::kRecurrent, 3}, {"GRU"});
    add({Kind::kRecurrent, 1}, {"RNN"});
    add({Kind::kEinsum}, {"Einsum"});
    add({Kind::kPackedAttention}, {"QAttention"});
    add({Kind::kScaledProduct}, {"MultiHeadAttention"});
    return table;
  }();
  return *costs;
}

std::optional<double> NodeFlops::Count() const {
  const auto found = Costs().find(op_);
  if (found == Costs().end()) {
    // com.microsoft's has its projections inside, ONNX's has not.
    if (op_ == "Attention") {
      const Shape* const weight = Input(1);
      return weight != nullptr && weight->size() == 2 ? PackedAttention()
                                                      : ScaledProduct();
    }
    return std::nullopt;
  }
  const Cost& cost = found->second;
  switch (cost.kind) {
    case Kind::kMoves:
      return 0;
    case Kind::kPerOutput:
      return Times(OutputElements(), cost.factor);
    case Kind::kPerInput:
      return Times(InputElements(0), cost.factor);
    case Kind::kProduct:
      return Product(cost.weight, false);
    case Kind::kGemm:
      return Product(cost.weight, Has(cost.weight == 3 ? 6 : 2));
    case Kind::kConvolution:
      return Convolution(cost.weight,
                         Has(cost.weight == 3 ? 8 : 2) && op_ != "ConvInteger");
    case Kind::kTransposed:
      return TransposedConvolution();
    case Kind::kPooling:
      return Pooling();
    case Kind::kRecurrent:
      return Recurrent(cost.factor);
    case Kind::kEinsum:
      return Einsum();
    case Kind::kPackedAttention:
      return PackedAttention();
    case Kind::kScaledProduct:
      return ScaledProduct();
  }
  return std::nullopt;
}

std::optional<double> NodeFlops::Product(std::size_t right, bool bias) const {
  const auto outputs = OutputElements();
  std::int64_t depth = kUnknownDim;  // what is summed over
  if (op_ == "MatMulNBits") {
    depth = attributes_.Int("K", kUnknownDim);
  } else if (const Shape* const a = Input(0); a != nullptr && !a->empty()) {
    const bool transposed = attributes_.Int("transA", 0) != 0 && a->size() > 1;
    depth = (*a)[a->size() - (transposed ? 2 : 1)];
  }
  if (depth == kUnknownDim) {
    if (const Shape* const b = Input(right); b != nullptr && !b->empty()) {
      const bool transposed = attributes_.Int("transB", 0) != 0;
      depth = b->size() == 1 ? (*b)[0] : (*b)[b->size() - (transposed ? 1 : 2)];
    }
  }
  if (depth == kUnknownDim || !outputs) return std::nullopt;
  return 2 * *outputs * static_cast<double>(depth) + (bias ? *outputs : 0);
}

std::optional<double> NodeFlops::Convolution(std::size_t weight,
                                             bool bias) const {
  const auto outputs = OutputElements();
  // A weight is [out, in / group, kernel...].
  const auto window = Volume(Input(weight), 1);
  if (!outputs || !window) return std::nullopt;
  return 2 * *outputs * *window + (bias ? *outputs : 0);
}

std::optional<double> NodeFlops::TransposedConvolution() const {
  const auto inputs = InputElements(0);
  const auto window = Volume(Input(1), 1);
  const auto outputs = OutputElements();
  if (!inputs || !window || !outputs) return std::nullopt;
  return 2 * *inputs * *window + (Has(2) ? *outputs : 0);
}

std::optional<double> NodeFlops::Pooling() const {
  const auto kernel = attributes_.Ints("kernel_shape");
  if (!kernel) return std::nullopt;
  return Times(OutputElements(), Volume(&*kernel, 0));
}

// The products of the gates; what is done per element is small beside them.
std::optional<double> NodeFlops::Recurrent(double gates) const {
  const Shape* const data = Input(0);    // [steps, batch, in]
  const Shape* const weight = Input(2);  // [directions, gates * hidden, hidden]
  if (data == nullptr || weight == nullptr || data->size() != 3 ||
      weight->size() != 3) {
    return std::nullopt;
  }
  const auto steps = Volume(data, 0);
  const auto hidden = Volume(weight, 2);
  if (!steps || !hidden || (*data)[2] <= 0 || (*weight)[0] == kUnknownDim) {
    return std::nullopt;
  }
  const auto in = static_cast<double>((*data)[2]);
  return 2 * (*steps / in) * static_cast<double>((*weight)[0]) * gates *
         *hidden * (in + *hidden);
}

std::optional<double> NodeFlops::Einsum() const {
  const std::string_view equation = attributes_.Text("equation");
  const std::size_t arrow = equation.find("->");
  if (equation.find('.') != std::string_view::npos) return std::nullopt;
  std::unordered_map<char, double> sizes;
  bool unknown = false;
  const bool visited = VisitEinsumInputs(
      equation.substr(0, arrow), [&](std::size_t i) { return Input(i); },
      [&](char letter, std::int64_t size) {
        unknown |= size == kUnknownDim;
        sizes[letter] = static_cast<double>(size);
      });
  if (!visited || unknown) return std::nullopt;
  double volume = 1;
  for (const auto& [letter, size] : sizes) volume *= size;
  return (inputs_.size() > 1 ? 2 : 1) * volume;
}

std::optional<double> NodeFlops::PackedAttention() const {
  const Shape* const data = Input(0);    // [batch, sequence, in]
  const Shape* const weight = Input(1);  // [in, 3 * hidden]
  const auto elements = InputElements(0);
  if (data == nullptr || data->size() != 3 || weight == nullptr ||
      weight->size() != 2 || (*weight)[1] == kUnknownDim || !elements) {
    return std::nullopt;
  }
  const auto batch = static_cast<double>((*data)[0]);
  const auto sequence = static_cast<double>((*data)[1]);
  const auto columns = static_cast<double>((*weight)[1]);
  return 2 * *elements * columns +
         4 * batch * sequence * sequence * columns / 3;
}

// Scores and context: queries times keys, and that times values.
std::optional<double> NodeFlops::ScaledProduct() const {
  const Shape* const query = Input(0);
  const Shape* const key = Input(1);
  const auto elements = InputElements(0);
  if (query == nullptr || key == nullptr || !elements || query->size() < 3 ||
      key->size() != query->size()) {
    return std::nullopt;
  }
  // [batch, sequence, hidden] or [batch, heads, sequence, size].
  const std::int64_t keys = (*key)[key->size() - 2];
  if (keys == kUnknownDim) return std::nullopt;
  return 4 * *elements * static_cast<double>(keys);
}

}  // namespace

IdVector<NodeId, std::int64_t> CountFlops(const Model& model,
                                          const Shapes& shapes) {
  IdVector<NodeId, std::int64_t> flops(model.node_count(), kUnknownFlops);
  for (const NodeId node : model.Nodes()) {
    const std::uint64_t runs = shapes.Runs(model[node].graph);
    // What a call costs, the nodes of the body say.
    const bool call = shapes.CalledBody(node) != kNo<GraphId>;
    const std::optional<double> count =
        call ? 0 : NodeFlops(model, shapes, node).Count();
    if (!count || *count < 0) continue;
    if (*count == 0) {
      flops[node] = 0;
    } else if (runs > 0 && *count * static_cast<double>(runs) < kMost) {
      flops[node] =
          static_cast<std::int64_t>(*count) * static_cast<std::int64_t>(runs);
    }
  }
  return flops;
}

}  // namespace onnx_tag::sizes
