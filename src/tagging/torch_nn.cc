#include "tagging/torch_nn.h"

#include "base/text.h"
#include "generated/torch_nn_classes.h"

namespace onnx_tag {

const std::unordered_set<std::string_view>& TorchNnClasses() {
  static const std::unordered_set<std::string_view> classes = [] {
    const auto names = Split(kTorchNnClasses, '\n');
    return std::unordered_set<std::string_view>(names.begin(), names.end());
  }();
  return classes;
}

}  // namespace onnx_tag
