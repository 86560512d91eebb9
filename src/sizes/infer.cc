#include "sizes/infer.h"

#include <string_view>
#include <unordered_map>

#include "sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

const std::unordered_map<std::string_view, Rule>& Rules() {
  static const auto* const rules = [] {
    auto* const table = new std::unordered_map<std::string_view, Rule>;
    const auto add = [&](Rule rule,
                         std::initializer_list<std::string_view> ops) {
      for (const std::string_view op : ops) table->emplace(op, rule);
    };
    add(SameAsFirst, {"Abs",
                      "Acos",
                      "Asin",
                      "Atan",
                      "BatchNormalization",
                      "BiasGelu",
                      "BiasSplitGelu",
                      "BitwiseNot",
                      "Cast",
                      "CastLike",
                      "Ceil",
                      "Celu",
                      "Clip",
                      "Cos",
                      "CumSum",
                      "DequantizeLinear",
                      "Dropout",
                      "DynamicQuantizeLinear",
                      "Elu",
                      "Erf",
                      "Exp",
                      "FastGelu",
                      "Floor",
                      "Gelu",
                      "GroupNorm",
                      "GroupNormalization",
                      "HardSigmoid",
                      "HardSwish",
                      "Hardmax",
                      "Identity",
                      "InstanceNormalization",
                      "IsInf",
                      "IsNaN",
                      "LRN",
                      "LayerNormalization",
                      "LeakyRelu",
                      "Log",
                      "LogSoftmax",
                      "LpNormalization",
                      "MeanVarianceNormalization",
                      "Mish",
                      "Neg",
                      "Not",
                      "PRelu",
                      "QuantizeLinear",
                      "QuickGelu",
                      "RMSNormalization",
                      "RandomNormalLike",
                      "RandomUniformLike",
                      "Reciprocal",
                      "Relu",
                      "ReverseSequence",
                      "RotaryEmbedding",
                      "Round",
                      "ScatterElements",
                      "ScatterND",
                      "Selu",
                      "Shrink",
                      "Sigmoid",
                      "Sign",
                      "Silu",
                      "SimplifiedLayerNormalization",
                      "Sin",
                      "Sinh",
                      "SkipLayerNormalization",
                      "SkipSimplifiedLayerNormalization",
                      "Softmax",
                      "Softplus",
                      "Softsign",
                      "Sqrt",
                      "Swish",
                      "Tan",
                      "Tanh",
                      "ThresholdedRelu",
                      "Trilu"});
    add(BroadcastAll, {"Add",       "And",
                       "BitShift",  "BitwiseAnd",
                       "BitwiseOr", "BitwiseXor",
                       "Div",       "Equal",
                       "Greater",   "GreaterOrEqual",
                       "Less",      "LessOrEqual",
                       "Max",       "Mean",
                       "Min",       "Mod",
                       "Mul",       "Or",
                       "Pow",       "Sub",
                       "Sum",       "Where",
                       "Xor"});
    add(Product,
        {"FusedMatMul", "MatMul", "MatMulInteger", "MatMulIntegerToFloat",
         "DynamicQuantizeMatMul", "QLinearMatMul"});
    add(GemmProduct, {"FusedGemm", "Gemm", "QGemm"});
    add(BlockProduct, {"MatMulNBits"});
    add(Convolution, {"Conv", "ConvInteger", "FusedConv", "QLinearConv"});
    add(TransposedConvolution, {"ConvTranspose"});
    add(Pooling, {"AveragePool", "LpPool", "MaxPool"});
    add(GlobalPooling, {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"});
    add(Reshaping, {"Reshape"});
    add(Transposing, {"Transpose"});
    add(Flattening, {"Flatten"});
    add(Squeezing, {"Squeeze"});
    add(Unsqueezing, {"Unsqueeze"});
    add(Concatenating, {"Concat"});
    add(Splitting, {"Split"});
    add(Slicing, {"Slice"});
    add(Gathering, {"Gather"});
    add(SameAsSecond, {"GatherElements"});
    add(Expanding, {"Expand"});
    add(Tiling, {"Tile"});
    add(Padding, {"Pad"});
    add(ShapeOf, {"Shape"});
    add(SizeOf, {"Size"});
    add(ConstantValue, {"Constant"});
    add(FilledShape, {"ConstantOfShape"});
    add(RangeOf, {"Range"});
    add(Reducing, {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
                   "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                   "ReduceProd", "ReduceSum", "ReduceSumSquare"});
    add(Resizing, {"Resize", "Upsample"});
    add(DepthToSpace, {"DepthToSpace", "SpaceToDepth"});
    add(Recurrent, {"GRU", "LSTM", "RNN"});
    add(EinsumProduct, {"Einsum"});
    add(TopValues, {"TopK"});
    add(OneHotting, {"OneHot"});
    add(FoundPlaces, {"NonMaxSuppression", "NonZero"});
    add(GridSampling, {"GridSample"});
    add(Attending, {"GroupQueryAttention", "MultiHeadAttention"});
    add(PackedAttention, {"Attention", "QAttention"});
    return table;
  }();
  return *rules;
}

}  // namespace

std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = shape[offset + i];
    const std::int64_t other = shorter[i];
    if (dim == other || other == 1) continue;
    if (dim == 1) {
      dim = other;
    } else if (dim == kUnknownDim) {
      dim = other;
    } else if (other != kUnknownDim) {
      return std::nullopt;
    }
  }
  return shape;
}

Inferred Infer(const Model& model, const Shapes& shapes, NodeId node) {
  // Domains of ONNX Runtime have the same operators, and more.
  const std::string_view domain = model.Domain(node);
  if (!domain.empty() && domain != "ai.onnx" &&
      !domain.starts_with("com.microsoft") && !domain.starts_with("com.ms.")) {
    return {};
  }
  const auto rule = Rules().find(model.OpType(node));
  if (rule == Rules().end()) return {};
  const NodeView view(model, shapes, node);
  Inferred inferred = rule->second(view);
  if (inferred.types.empty()) {
    for (std::size_t i = 0; i < view.outputs(); ++i) {
      inferred.types.push_back(OutputType(view, i));
    }
  }
  if (inferred.numbers && inferred.numbers->size() > kMostElements) {
    inferred.numbers.reset();
  }
  return inferred;
}

}  // namespace onnx_tag::sizes
