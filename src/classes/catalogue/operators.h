// What a leaf module does, as far as its operators show it.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_OPERATORS_H_
#define ONNX_TAG_CLASSES_CATALOGUE_OPERATORS_H_

#include <cstdint>
#include <string_view>

namespace onnx_tag::catalogue {

// A set of operators that tell leaf classes apart.
using Operators = std::uint64_t;

// The bit of an operator; 0 where it tells nothing (Constant, Cast, Reshape).
Operators OperatorBit(std::string_view op_type);

// Those that multiply with a weight: Conv, MatMul and their like.
extern const Operators kWeighing;

// What a class without children computes, read off its name.
enum class LeafKind : std::uint8_t {
  kUnknown,
  kNothing,  // Identity, Dropout: leaves no node
  kContainer,
  kLinear,
  kConv,
  kConvTranspose,
  kEmbedding,
  kLayerNorm,
  kLayerNorm2d,
  kRmsNorm,
  kRmsNormPlusOne,  // multiplies with 1 + weight: folded, the name is lost
  kBatchNorm,
  kGroupNorm,
  kInstanceNorm,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kPRelu,
  kElu,
  kSelu,
  kGelu,
  kGeluTanh,
  kQuickGelu,
  kSilu,
  kSigmoid,
  kTanh,
  kHardSwish,
  kHardSigmoid,
  kSoftmax,
  kSoftplus,
  kMish,
  kMaxPool,
  kAveragePool,
  kAdaptivePool,
  kLstm,
  kGru,
  kRnn,
  kFlatten,
  kResize,
};
LeafKind KindOf(std::string_view class_name);

// 1: a leaf of this kind leaves such operators; -1: it does not; 0: nobody
// can tell. `complete`: these are all that the module left.
int Fit(LeafKind kind, Operators seen, bool complete);

inline bool IsNorm(LeafKind kind) {
  return kind == LeafKind::kBatchNorm || kind == LeafKind::kGroupNorm ||
         kind == LeafKind::kLayerNorm || kind == LeafKind::kLayerNorm2d;
}

// Whether an exporter leaves a trace of a module of this kind.
inline bool LeavesNodes(LeafKind kind) {
  return kind != LeafKind::kNothing && kind != LeafKind::kContainer;
}

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_OPERATORS_H_
