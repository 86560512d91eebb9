#include "mapping/classes/catalogue/operators.h"

#include <algorithm>
#include <array>
#include <string>

namespace onnx_tag::catalogue {
namespace {

enum Op : std::uint8_t {
  kMatMul,
  kConv,
  kConvTranspose,
  kGather,
  kLayerNormOp,
  kRmsNormOp,
  kBatchNormOp,
  kGroupNormOp,
  kInstanceNormOp,
  kReduceMean,
  kSub,
  kPow,
  kSqrt,
  kRelu,
  kClip,
  kLeakyRelu,
  kPRelu,
  kElu,
  kSelu,
  kErf,
  kGeluOp,
  kQuickGeluOp,
  kFastGeluOp,
  kSigmoid,
  kSwishOp,
  kTanh,
  kHardSwish,
  kHardSigmoid,
  kSoftmax,
  kSoftplus,
  kMishOp,
  kMul,
  kAdd,
  kMaxPool,
  kAveragePool,
  kGlobalPool,
  kLstm,
  kGru,
  kRnn,
  kFlatten,
  kResize,
  kDiv,
  kTranspose,
  kConcat,
  kReduceSum,
};

constexpr Operators Bits() { return 0; }
template <typename... Rest>
constexpr Operators Bits(Op first, Rest... rest) {
  return Operators{1} << first | Bits(rest...);
}

struct NamedOp {
  std::string_view name;
  Op op;
};
// Sorted by name.
constexpr std::array<NamedOp, 66> kOps = {{
    {"Add", kAdd},
    {"AveragePool", kAveragePool},
    {"BatchNormalization", kBatchNormOp},
    {"BiasGelu", kGeluOp},
    {"Clip", kClip},
    {"Concat", kConcat},
    {"Conv", kConv},
    {"ConvInteger", kConv},
    {"ConvTranspose", kConvTranspose},
    {"Div", kDiv},
    {"DynamicQuantizeMatMul", kMatMul},
    {"Elu", kElu},
    {"Erf", kErf},
    {"FastGelu", kFastGeluOp},
    {"Flatten", kFlatten},
    {"FusedConv", kConv},
    {"FusedGemm", kMatMul},
    {"FusedMatMul", kMatMul},
    {"GRU", kGru},
    {"Gather", kGather},
    {"GatherBlockQuantized", kGather},
    {"Gelu", kGeluOp},
    {"Gemm", kMatMul},
    {"GlobalAveragePool", kGlobalPool},
    {"GlobalMaxPool", kGlobalPool},
    {"GroupNorm", kGroupNormOp},
    {"GroupNormalization", kGroupNormOp},
    {"HardSigmoid", kHardSigmoid},
    {"HardSwish", kHardSwish},
    {"InstanceNormalization", kInstanceNormOp},
    {"LSTM", kLstm},
    {"LayerNormalization", kLayerNormOp},
    {"LeakyRelu", kLeakyRelu},
    {"LogSoftmax", kSoftmax},
    {"MatMul", kMatMul},
    {"MatMulInteger", kMatMul},
    {"MatMulIntegerToFloat", kMatMul},
    {"MatMulNBits", kMatMul},
    {"MaxPool", kMaxPool},
    {"Mish", kMishOp},
    {"Mul", kMul},
    {"PRelu", kPRelu},
    {"Pow", kPow},
    {"QGemm", kMatMul},
    {"QLinearConv", kConv},
    {"QLinearMatMul", kMatMul},
    {"QuickGelu", kQuickGeluOp},
    {"RMSNormalization", kRmsNormOp},
    {"RNN", kRnn},
    {"ReduceMean", kReduceMean},
    {"ReduceSum", kReduceSum},
    {"Relu", kRelu},
    {"Resize", kResize},
    {"Selu", kSelu},
    {"Sigmoid", kSigmoid},
    {"SimplifiedLayerNormalization", kRmsNormOp},
    {"SkipLayerNormalization", kLayerNormOp},
    {"SkipSimplifiedLayerNormalization", kRmsNormOp},
    {"Softmax", kSoftmax},
    {"Softplus", kSoftplus},
    {"Sqrt", kSqrt},
    {"Sub", kSub},
    {"Swish", kSwishOp},
    {"Tanh", kTanh},
    {"Transpose", kTranspose},
    {"Upsample", kResize},
}};
static_assert(std::is_sorted(kOps.begin(), kOps.end(),
                             [](const NamedOp& a, const NamedOp& b) {
                               return a.name < b.name;
                             }));

struct NamedKind {
  std::string_view word;  // in lower case, starts or ends the class's name
  LeafKind kind;
};
// The first match is used; longer words precede the words they contain.
constexpr NamedKind kKinds[] = {
    {"identity", LeafKind::kNothing},
    {"dropout", LeafKind::kNothing},
    {"dropout1d", LeafKind::kNothing},
    {"dropout2d", LeafKind::kNothing},
    {"dropout3d", LeafKind::kNothing},
    {"droppath", LeafKind::kNothing},
    {"stochasticdepth", LeafKind::kNothing},
    {"relu6", LeafKind::kRelu6},
    {"leakyrelu", LeafKind::kLeakyRelu},
    {"prelu", LeafKind::kPRelu},
    {"relusquaredactivation", LeafKind::kUnknown},
    {"relu", LeafKind::kRelu},
    {"quickgelu", LeafKind::kQuickGelu},
    {"quickgeluactivation", LeafKind::kQuickGelu},
    {"newgelu", LeafKind::kGeluTanh},
    {"fastgelu", LeafKind::kGeluTanh},
    {"accurategelu", LeafKind::kGeluTanh},
    {"gelutanh", LeafKind::kGeluTanh},
    {"clippedgelu", LeafKind::kUnknown},
    {"gelu", LeafKind::kGelu},
    {"hardswish", LeafKind::kHardSwish},
    {"hardsigmoid", LeafKind::kHardSigmoid},
    {"logsigmoid", LeafKind::kUnknown},
    {"silu", LeafKind::kSilu},
    {"swish", LeafKind::kSilu},
    {"tanh", LeafKind::kTanh},
    {"sigmoid", LeafKind::kSigmoid},
    {"softmax", LeafKind::kSoftmax},
    {"softplus", LeafKind::kSoftplus},
    {"mish", LeafKind::kMish},
    {"selu", LeafKind::kSelu},
    {"elu", LeafKind::kElu},
    {"rmsnorm", LeafKind::kRmsNorm},
    {"t5layernorm", LeafKind::kRmsNorm},
    {"layernorm2d", LeafKind::kLayerNorm2d},
    {"layernorm", LeafKind::kLayerNorm},
    {"batchnorm1d", LeafKind::kBatchNorm},
    {"batchnorm2d", LeafKind::kBatchNorm},
    {"batchnorm3d", LeafKind::kBatchNorm},
    {"batchnormact2d", LeafKind::kBatchNorm},
    {"groupnorm", LeafKind::kGroupNorm},
    {"groupnormact", LeafKind::kGroupNorm},
    {"instancenorm1d", LeafKind::kInstanceNorm},
    {"instancenorm2d", LeafKind::kInstanceNorm},
    {"instancenorm3d", LeafKind::kInstanceNorm},
    {"convtranspose1d", LeafKind::kConvTranspose},
    {"convtranspose2d", LeafKind::kConvTranspose},
    {"convtranspose3d", LeafKind::kConvTranspose},
    {"conv2d", LeafKind::kConv},
    {"conv3d", LeafKind::kConv},
    {"embeddingbag", LeafKind::kEmbeddingBag},
    {"embedding", LeafKind::kEmbedding},
    {"linear", LeafKind::kLinear},
    {"adaptiveavgpool1d", LeafKind::kAdaptivePool},
    {"adaptiveavgpool2d", LeafKind::kAdaptivePool},
    {"adaptiveavgpool3d", LeafKind::kAdaptivePool},
    {"adaptiveavgpool", LeafKind::kAdaptivePool},
    {"avgpool1d", LeafKind::kAveragePool},
    {"avgpool2d", LeafKind::kAveragePool},
    {"avgpool3d", LeafKind::kAveragePool},
    {"maxpool1d", LeafKind::kMaxPool},
    {"maxpool2d", LeafKind::kMaxPool},
    {"maxpool3d", LeafKind::kMaxPool},
    {"lstmcell", LeafKind::kLstmCell},
    {"grucell", LeafKind::kGruCell},
    {"rnncell", LeafKind::kRnnCell},
    {"lstm", LeafKind::kLstm},
    {"gru", LeafKind::kGru},
    {"flatten", LeafKind::kFlatten},
    {"upsample", LeafKind::kResize},
};

struct Pattern {
  Operators any;  // at least one of these is present
  Operators none = 0;
};

// The operators that distinguish a kind, and other operators it may have.
Pattern PatternOf(LeafKind kind) {
  constexpr Operators kNorms = Bits(kLayerNormOp, kRmsNormOp, kBatchNormOp,
                                    kGroupNormOp, kInstanceNormOp);
  constexpr Operators kArithmetic = Bits(kMatMul, kConv, kConvTranspose);
  switch (kind) {
    case LeafKind::kLinear:
      return {Bits(kMatMul), kNorms | Bits(kConv, kConvTranspose, kSoftmax)};
    case LeafKind::kConv:
      return {Bits(kConv), Bits(kConvTranspose, kSoftmax)};
    case LeafKind::kConvTranspose:
      return {Bits(kConvTranspose), Bits(kConv, kMatMul)};
    case LeafKind::kEmbedding:
      return {Bits(kGather),
              kArithmetic | kNorms | Bits(kReduceMean, kReduceSum)};
    case LeafKind::kEmbeddingBag:
      return {Bits(kReduceMean, kReduceSum), kArithmetic | kNorms};
    case LeafKind::kLayerNorm:
      return {Bits(kLayerNormOp, kSub),
              kArithmetic | Bits(kRmsNormOp, kBatchNormOp, kGroupNormOp,
                                 kInstanceNormOp, kTranspose)};
    case LeafKind::kLayerNorm2d:
      return {Bits(kLayerNormOp, kSub),
              kArithmetic | Bits(kRmsNormOp, kBatchNormOp)};
    case LeafKind::kRmsNorm:
    case LeafKind::kRmsNormPlusOne:
      return {Bits(kRmsNormOp, kReduceMean),
              kArithmetic | Bits(kSub, kLayerNormOp, kBatchNormOp, kGroupNormOp,
                                 kInstanceNormOp)};
    case LeafKind::kBatchNorm:
      return {Bits(kBatchNormOp),
              kArithmetic | Bits(kLayerNormOp, kRmsNormOp, kGroupNormOp)};
    case LeafKind::kGroupNorm:
      return {Bits(kGroupNormOp, kInstanceNormOp), kArithmetic};
    case LeafKind::kInstanceNorm:
      return {Bits(kInstanceNormOp), kArithmetic};
    case LeafKind::kRelu:
      return {Bits(kRelu), kArithmetic | kNorms};
    case LeafKind::kRelu6:
      return {Bits(kClip), kArithmetic | kNorms | Bits(kMul)};
    case LeafKind::kLeakyRelu:
      return {Bits(kLeakyRelu)};
    case LeafKind::kPRelu:
      return {Bits(kPRelu)};
    case LeafKind::kElu:
      return {Bits(kElu)};
    case LeafKind::kSelu:
      return {Bits(kSelu)};
    case LeafKind::kGelu:
      return {Bits(kErf, kGeluOp), kArithmetic};
    case LeafKind::kGeluTanh:
      return {Bits(kTanh, kFastGeluOp, kGeluOp), kArithmetic | Bits(kErf)};
    case LeafKind::kQuickGelu:
      return {Bits(kSigmoid, kQuickGeluOp), kArithmetic};
    case LeafKind::kSilu:
      return {Bits(kSigmoid, kSwishOp, kQuickGeluOp), kArithmetic};
    case LeafKind::kSigmoid:
      return {Bits(kSigmoid), kArithmetic | Bits(kMul)};
    case LeafKind::kTanh:
      return {Bits(kTanh), kArithmetic | Bits(kMul, kPow, kSoftplus)};
    case LeafKind::kHardSwish:
      return {Bits(kHardSwish, kHardSigmoid, kClip), kArithmetic};
    case LeafKind::kHardSigmoid:
      return {Bits(kHardSigmoid, kClip), kArithmetic | Bits(kMul)};
    case LeafKind::kSoftmax:
      return {Bits(kSoftmax), kArithmetic};
    case LeafKind::kSoftplus:
      return {Bits(kSoftplus), kArithmetic | Bits(kTanh)};
    case LeafKind::kMish:
      return {Bits(kMishOp, kSoftplus), kArithmetic};
    case LeafKind::kMaxPool:
      return {Bits(kMaxPool), kArithmetic};
    case LeafKind::kAveragePool:
      return {Bits(kAveragePool), kArithmetic};
    case LeafKind::kAdaptivePool:
      return {Bits(kGlobalPool, kAveragePool, kReduceMean), kArithmetic};
    case LeafKind::kLstm:
      return {Bits(kLstm)};
    case LeafKind::kGru:
      return {Bits(kGru)};
    case LeafKind::kRnn:
      return {Bits(kRnn)};
    // A GRU mixes the old state with the new one: (1 - z) n + z h.
    case LeafKind::kGruCell:
      return {Bits(kSub), kNorms};
    case LeafKind::kLstmCell:
      return {Bits(kSigmoid), kNorms | Bits(kSub)};
    case LeafKind::kRnnCell:
      return {Bits(kTanh, kRelu), kNorms | Bits(kSub, kSigmoid)};
    case LeafKind::kFlatten:
      return {Bits(kFlatten), kArithmetic | kNorms};
    case LeafKind::kResize:
      return {Bits(kResize), kArithmetic};
    case LeafKind::kUnknown:
    case LeafKind::kNothing:
    case LeafKind::kContainer:
      break;
  }
  return {0};
}

}  // namespace

const Operators kWeighing = Bits(kMatMul, kConv, kConvTranspose);

Operators OperatorBit(std::string_view op_type) {
  const auto at = std::lower_bound(
      kOps.begin(), kOps.end(), op_type,
      [](const NamedOp& op, std::string_view name) { return op.name < name; });
  return at == kOps.end() || at->name != op_type ? 0 : Bits(at->op);
}

LeafKind KindOf(std::string_view class_name) {
  for (const std::string_view container :
       {"ModuleList", "Sequential", "ModuleDict", "ParameterList",
        "ParameterDict"}) {
    if (class_name == container) return LeafKind::kContainer;
  }
  // Conv1D of GPT-2 is a Linear with a transposed weight.
  if (class_name == "Conv1D") return LeafKind::kLinear;
  if (class_name.ends_with("Conv1d")) return LeafKind::kConv;
  // Its statistics are buffers, and it is decomposed into arithmetic.
  if (class_name.find("Frozen") != std::string_view::npos) {
    return LeafKind::kUnknown;
  }
  if (class_name == "RNN") return LeafKind::kRnn;
  if (class_name.ends_with("RMSNorm") &&
      class_name.find("Gemma") != std::string_view::npos) {
    return LeafKind::kRmsNormPlusOne;
  }
  std::string name;
  for (const char c : class_name) {
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  std::string_view core = name;
  if (core.ends_with("activation")) {
    core.remove_suffix(std::string_view("activation").size());
  }
  for (const NamedKind& kind : kKinds) {
    if (core.starts_with(kind.word) || core.ends_with(kind.word)) {
      return kind.kind;
    }
  }
  return LeafKind::kUnknown;
}

int Fit(LeafKind kind, Operators seen, bool complete) {
  if (kind == LeafKind::kUnknown || kind == LeafKind::kContainer) return 0;
  // It moves the channels to the end and back.
  if (kind == LeafKind::kLayerNorm2d && complete &&
      (seen & Bits(kTranspose)) == 0) {
    return -1;
  }
  // A batch norm is one operator, or folded. Others are arithmetic.
  if (kind == LeafKind::kBatchNorm && complete &&
      (seen & Bits(kBatchNormOp)) == 0 && (seen & Bits(kMul, kAdd)) != 0) {
    return -1;
  }
  // Any module may use arithmetic; an average indicates a norm.
  constexpr Operators kCommon =
      Bits(kMul, kAdd, kSub, kDiv, kPow, kSqrt, kTranspose);
  const Pattern pattern = PatternOf(kind);
  if ((seen & pattern.none) != 0) return -1;
  if ((seen & pattern.any) != 0) return 1;
  // An exporter may have decomposed it.
  if (kind == LeafKind::kLstm || kind == LeafKind::kGru ||
      kind == LeafKind::kRnn) {
    return 0;
  }
  return (seen & ~kCommon) != 0 ? -1 : 0;
}

}  // namespace onnx_tag::catalogue
