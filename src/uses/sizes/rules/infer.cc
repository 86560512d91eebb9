#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Rule FunctionOf(ShapeRule rule) {
  switch (rule) {
    case ShapeRule::kNone:
    case ShapeRule::kBody:  // shapes.cc
      return nullptr;
    case ShapeRule::kSame:
      return SameAsFirst;
    case ShapeRule::kBroadcast:
      return BroadcastAll;
    case ShapeRule::kHalved:
      return Halved;
    case ShapeRule::kDropout:
      return Dropout;
    case ShapeRule::kBatchNorm:
      return BatchNorm;
    case ShapeRule::kLayerNorm:
      return LayerNorm;
    case ShapeRule::kSkipNorm:
      return SkipNorm;
    case ShapeRule::kDynamicQuantize:
      return DynamicQuantize;
    case ShapeRule::kQuantizedBroadcast:
      return QuantizedBroadcast;
    case ShapeRule::kQuantizedWhere:
      return QuantizedWhere;
    case ShapeRule::kReduce:
      return Reduce;
    case ShapeRule::kArgReduce:
      return ArgReduce;
    case ShapeRule::kDeterminant:
      return Determinant;
    case ShapeRule::kLoss:
      return Loss;
    case ShapeRule::kMatrixProduct:
      return MatrixProduct;
    case ShapeRule::kGemm:
      return GemmProduct;
    case ShapeRule::kBlockProduct:
      return BlockProduct;
    case ShapeRule::kEinsum:
      return EinsumProduct;
    case ShapeRule::kRecurrent:
      return Recurrent;
    case ShapeRule::kAttention:
      return Attention;
    case ShapeRule::kLinearAttention:
      return LinearAttention;
    case ShapeRule::kMultiHeadAttention:
      return MultiHeadAttention;
    case ShapeRule::kGroupQueryAttention:
      return GroupQueryAttention;
    case ShapeRule::kPackedAttention:
      return PackedAttention;
    case ShapeRule::kPackedTokens:
      return PackedTokens;
    case ShapeRule::kEmbedLayerNorm:
      return EmbedLayerNorm;
    case ShapeRule::kGeneration:
      return Generation;
    case ShapeRule::kConvolution:
      return Convolution;
    case ShapeRule::kConvolutionLast:
      return ConvolutionLast;
    case ShapeRule::kCausalConvolution:
      return CausalConvolution;
    case ShapeRule::kTransposedConvolution:
      return TransposedConvolution;
    case ShapeRule::kPool:
      return Pool;
    case ShapeRule::kPoolLast:
      return PoolLast;
    case ShapeRule::kGlobalPool:
      return GlobalPool;
    case ShapeRule::kMaxUnpool:
      return MaxUnpool;
    case ShapeRule::kRoiPool:
      return RoiPool;
    case ShapeRule::kRoiAlign:
      return RoiAlign;
    case ShapeRule::kResize:
      return Resize;
    case ShapeRule::kDepthToSpace:
      return DepthToSpace;
    case ShapeRule::kGridSample:
      return GridSample;
    case ShapeRule::kAffineGrid:
      return AffineGrid;
    case ShapeRule::kColToImage:
      return ColToImage;
    case ShapeRule::kReshape:
      return Reshape;
    case ShapeRule::kTranspose:
      return Transpose;
    case ShapeRule::kFlatten:
      return Flatten;
    case ShapeRule::kSqueeze:
      return Squeeze;
    case ShapeRule::kUnsqueeze:
      return Unsqueeze;
    case ShapeRule::kConcat:
      return Concat;
    case ShapeRule::kQuantizedConcat:
      return QuantizedConcat;
    case ShapeRule::kConcatTraining:
      return ConcatTraining;
    case ShapeRule::kSplit:
      return Split;
    case ShapeRule::kSlice:
      return Slice;
    case ShapeRule::kGather:
      return Gather;
    case ShapeRule::kGatherNd:
      return GatherNd;
    case ShapeRule::kGatherBlocks:
      return GatherBlocks;
    case ShapeRule::kAsIndices:
      return AsIndices;
    case ShapeRule::kExpand:
      return Expand;
    case ShapeRule::kTile:
      return Tile;
    case ShapeRule::kPad:
      return Pad;
    case ShapeRule::kCrop:
      return Crop;
    case ShapeRule::kCenterCropPad:
      return CenterCropPad;
    case ShapeRule::kTopK:
      return TopK;
    case ShapeRule::kOneHot:
      return OneHot;
    case ShapeRule::kCompress:
      return Compress;
    case ShapeRule::kConstant:
      return ConstantValue;
    case ShapeRule::kFill:
      return Fill;
    case ShapeRule::kRange:
      return Range;
    case ShapeRule::kRandom:
      return Random;
    case ShapeRule::kShapeOf:
      return ShapeOf;
    case ShapeRule::kSizeOf:
      return SizeOf;
    case ShapeRule::kScalar:
      return Scalar;
    case ShapeRule::kSizesInSecond:
      return SizesInSecond;
    case ShapeRule::kNonZero:
      return NonZero;
    case ShapeRule::kBoxes:
      return Boxes;
    case ShapeRule::kUnique:
      return Unique;
    case ShapeRule::kMultinomial:
      return Multinomial;
    case ShapeRule::kFourier:
      return Fourier;
    case ShapeRule::kShortFourier:
      return ShortFourier;
    case ShapeRule::kWindowFunction:
      return WindowFunction;
    case ShapeRule::kMelWeights:
      return MelWeights;
    case ShapeRule::kImageDecoder:
      return ImageDecoder;
    case ShapeRule::kTextList:
      return TextList;
    case ShapeRule::kTfIdf:
      return TfIdf;
    case ShapeRule::kSequence:
      return Sequences;
    case ShapeRule::kConcatFromSequence:
      return ConcatFromSequence;
    case ShapeRule::kSequenceLength:
      return SequenceLength;
    case ShapeRule::kClassifier:
      return Classifier;
    case ShapeRule::kRegressor:
      return Regressor;
    case ShapeRule::kFeatureVectorizer:
      return FeatureVectorizer;
    case ShapeRule::kPickedColumns:
      return PickedColumns;
    case ShapeRule::kOneHotEncoder:
      return OneHotEncoder;
    case ShapeRule::kBroadcastAxes:
      return BroadcastAxes;
    case ShapeRule::kLayerNormGradient:
      return LayerNormGradient;
  }
  return nullptr;
}

// The row that says how to infer: its own, or that of the plain operator.
const Operator& RuleRow(const NodeView& node) {
  const Operator& row = node.row();
  return row.shape == ShapeRule::kNone ? Describe(row.like) : row;
}

}  // namespace

std::int32_t FirstType(const NodeView& node) {
  const auto attribute = [&](std::int32_t otherwise) {
    for (const char* const name : {"dtype", "output_datatype"}) {
      const std::int64_t type = node.attributes().Int(name, 0);
      if (type > 0) return static_cast<std::int32_t>(type);
    }
    return otherwise;
  };
  switch (RuleRow(node).type) {
    case TypeRule::kInput0:
      return node.InputType(0);
    case TypeRule::kInput1:
      return node.InputType(1);
    case TypeRule::kInput2:
      return node.InputType(2);
    case TypeRule::kInput3:
      return node.InputType(3);
    case TypeRule::kInput7:
      return node.InputType(7);
    case TypeRule::kBool:
      return kBool;
    case TypeRule::kFloat:
      return kFloat;
    case TypeRule::kInt32:
      return kInt32;
    case TypeRule::kInt64:
      return kInt64;
    case TypeRule::kUint8:
      return kUint8;
    case TypeRule::kTo:
      return static_cast<std::int32_t>(node.attributes().Int("to", 0));
    case TypeRule::kDataType:
      return attribute(kFloat);
    case TypeRule::kDataTypeInt32:
      return attribute(kInt32);
    case TypeRule::kDataTypeOrFirst:
      return attribute(node.InputType(0));
    case TypeRule::kQuantized:
      // Without a zero point the result is what `output_dtype` says, or uint8.
      return node.Has(2) ? node.InputType(2)
                         : static_cast<std::int32_t>(
                               node.attributes().Int("output_dtype", kUint8));
    case TypeRule::kUnknown:
      break;
  }
  return kUndefined;
}

Facts Infer(const NodeView& node) {
  const Rule rule = FunctionOf(RuleRow(node).shape);
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

}  // namespace onnx_tag::sizes
