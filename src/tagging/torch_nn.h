// The classes of torch.nn.
#ifndef ONNX_TAG_TAGGING_TORCH_NN_H_
#define ONNX_TAG_TAGGING_TORCH_NN_H_

#include <string_view>
#include <unordered_set>

namespace onnx_tag {

const std::unordered_set<std::string_view>& TorchNnClasses();

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_TORCH_NN_H_
