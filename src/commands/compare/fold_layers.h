// Module paths that differ in their indices, as one:
// "encoder.layer.{0-11}.output".
#ifndef ONNX_TAG_COMMANDS_COMPARE_FOLD_LAYERS_H_
#define ONNX_TAG_COMMANDS_COMPARE_FOLD_LAYERS_H_

#include <span>
#include <string>
#include <string_view>

namespace onnx_tag {

// "encoder.layer.*.output": equal for all layers.
std::string WithoutIndices(std::string_view path);

// One text for paths that are equal WithoutIndices().
std::string FoldPaths(std::span<const std::string> paths);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_COMPARE_FOLD_LAYERS_H_
