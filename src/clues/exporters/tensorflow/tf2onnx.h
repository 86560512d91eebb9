// TensorFlow's name scopes, as tf2onnx and keras2onnx keep them:
// `StatefulPartitionedCall/model/encoder/layer_._23/dense/Tensordot/MatMul__38`.
#ifndef ONNX_TAG_CLUES_EXPORTERS_TENSORFLOW_TF2ONNX_H_
#define ONNX_TAG_CLUES_EXPORTERS_TENSORFLOW_TF2ONNX_H_

#include <string_view>
#include <vector>

namespace onnx_tag::hierarchy {

struct TfName {
  // model, encoder, layer, 23, dense: what is left of the scope without calls,
  // ports, counters and TensorFlow ops. The first is as a rule the model
  // itself. Keras' suffixes (`dense_1` for `dense`) are still there: they are
  // the file's, and only all names together tell which they are.
  std::vector<std::string_view> segments;
  std::string_view op;  // "MatMul"
  bool ok = false;      // false: no scope at all, as in `MatMul__283`
};

// A node's name, or a value's with its `:0`.
TfName SplitTfName(std::string_view name);

// "dense_1" -> "dense"; the whole segment where there is no counter.
std::string_view WithoutKerasSuffix(std::string_view segment);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_TENSORFLOW_TF2ONNX_H_
