// The kind of a leaf module, from its operators.
#ifndef ONNX_TAG_MAPPING_CLASSES_CATALOGUE_OPERATORS_H_
#define ONNX_TAG_MAPPING_CLASSES_CATALOGUE_OPERATORS_H_

#include <cstdint>
#include <string_view>

namespace onnx_tag::catalogue {

// A set of operators that distinguish leaf classes.
using Operators = std::uint64_t;

// The bit of an operator; 0 if it is not distinctive (Constant, Cast, Reshape).
Operators OperatorBit(std::string_view op_type);

// Operators that multiply with a weight: Conv, MatMul, ...
extern const Operators kWeighing;

// The kind of computation of a class without children, from its name.
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
  kRmsNormPlusOne,  // multiplies with 1 + weight; folding loses the name
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
  kLstmCell,  // the cells are arithmetic
  kGruCell,
  kRnnCell,
  kEmbeddingBag,
  kFlatten,
  kResize,
};
LeafKind KindOf(std::string_view class_name);

// 1: a leaf of this kind has such operators; -1: it does not; 0: unknown.
// `complete`: these are all operators of the module.
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

#endif  // ONNX_TAG_MAPPING_CLASSES_CATALOGUE_OPERATORS_H_
