// The rules of shape inference: what a node gives, by the rule of its operator
// in data/operators.txt.
#ifndef ONNX_TAG_USES_SIZES_RULES_RULES_H_
#define ONNX_TAG_USES_SIZES_RULES_RULES_H_

#include "uses/sizes/rules/node_view.h"

namespace onnx_tag::sizes {

using Rule = Facts (*)(const NodeView&);

// What the node gives, with types; less than all outputs where nothing is
// known of the others.
Facts Infer(const NodeView& node);

// elementwise.cc: operators that work element by element, norms, reductions.
Facts SameAsFirst(const NodeView& node);
Facts BroadcastAll(const NodeView& node);
Facts Halved(const NodeView& node);
Facts Dropout(const NodeView& node);
Facts BatchNorm(const NodeView& node);
Facts LayerNorm(const NodeView& node);
Facts SkipNorm(const NodeView& node);
Facts DynamicQuantize(const NodeView& node);
Facts QuantizedBroadcast(const NodeView& node);
Facts QuantizedWhere(const NodeView& node);
Facts Reduce(const NodeView& node);
Facts ArgReduce(const NodeView& node);
Facts Determinant(const NodeView& node);
Facts Loss(const NodeView& node);
Facts BroadcastAxes(const NodeView& node);
Facts LayerNormGradient(const NodeView& node);

// products.cc: matrix products and recurrent layers.
Facts MatrixProduct(const NodeView& node);
Facts GemmProduct(const NodeView& node);
Facts BlockProduct(const NodeView& node);
Facts EinsumProduct(const NodeView& node);
Facts Recurrent(const NodeView& node);

// attention.cc
Facts Attention(const NodeView& node);
Facts LinearAttention(const NodeView& node);
Facts MultiHeadAttention(const NodeView& node);
Facts GroupQueryAttention(const NodeView& node);
Facts PackedAttention(const NodeView& node);
Facts PackedTokens(const NodeView& node);
Facts EmbedLayerNorm(const NodeView& node);
Facts Generation(const NodeView& node);

// windows.cc: operators that move a window over an image: convolutions and
// pooling, and those that scale images.
Facts Convolution(const NodeView& node);
Facts ConvolutionLast(const NodeView& node);
Facts CausalConvolution(const NodeView& node);
Facts TransposedConvolution(const NodeView& node);
Facts Pool(const NodeView& node);
Facts PoolLast(const NodeView& node);
Facts GlobalPool(const NodeView& node);
Facts MaxUnpool(const NodeView& node);
Facts RoiPool(const NodeView& node);
Facts RoiAlign(const NodeView& node);
Facts Resize(const NodeView& node);
Facts DepthToSpace(const NodeView& node);
Facts GridSample(const NodeView& node);
Facts AffineGrid(const NodeView& node);
Facts ColToImage(const NodeView& node);

// moving.cc: operators that only move elements.
Facts Reshape(const NodeView& node);
Facts Transpose(const NodeView& node);
Facts Flatten(const NodeView& node);
Facts Squeeze(const NodeView& node);
Facts Unsqueeze(const NodeView& node);
Facts Concat(const NodeView& node);
Facts QuantizedConcat(const NodeView& node);
Facts ConcatTraining(const NodeView& node);
Facts Split(const NodeView& node);
Facts Expand(const NodeView& node);
Facts Tile(const NodeView& node);
Facts Pad(const NodeView& node);

// choosing.cc: operators that take some of the elements.
Facts Slice(const NodeView& node);
Facts Gather(const NodeView& node);
Facts GatherNd(const NodeView& node);
Facts GatherBlocks(const NodeView& node);
Facts AsIndices(const NodeView& node);
Facts Crop(const NodeView& node);
Facts CenterCropPad(const NodeView& node);
Facts TopK(const NodeView& node);
Facts OneHot(const NodeView& node);
Facts Compress(const NodeView& node);
Facts NonZero(const NodeView& node);
Facts Boxes(const NodeView& node);
Facts Unique(const NodeView& node);

// constants.cc: operators that give constants and sizes.
Facts ShapeOf(const NodeView& node);
Facts SizeOf(const NodeView& node);
Facts ConstantValue(const NodeView& node);
Facts Fill(const NodeView& node);
Facts Range(const NodeView& node);
Facts Random(const NodeView& node);
Facts Scalar(const NodeView& node);
Facts SizesInSecond(const NodeView& node);
Facts Multinomial(const NodeView& node);
Facts WindowFunction(const NodeView& node);
Facts MelWeights(const NodeView& node);

// signals.cc: signals, text, and ai.onnx.ml.
Facts Fourier(const NodeView& node);
Facts ShortFourier(const NodeView& node);
Facts ImageDecoder(const NodeView& node);
Facts TextList(const NodeView& node);
Facts TfIdf(const NodeView& node);
Facts Classifier(const NodeView& node);
Facts Regressor(const NodeView& node);
Facts FeatureVectorizer(const NodeView& node);
Facts PickedColumns(const NodeView& node);
Facts OneHotEncoder(const NodeView& node);

// sequences.cc
Facts Sequences(const NodeView& node);
Facts ConcatFromSequence(const NodeView& node);
Facts SequenceLength(const NodeView& node);

// node_cost.cc: how many floating-point operations a node does, from the shapes
// it reads and gives. One multiply-add is two. docs/sizes.md has the rule of
// each operator. For one run of the node; unknown where a shape or a rule is
// missing.
Dim CountFlops(const NodeView& node);

// infer.cc: the element type of the first output; 0: unknown.
std::int32_t FirstType(const NodeView& node);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_USES_SIZES_RULES_RULES_H_
