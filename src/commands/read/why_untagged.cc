#include "commands/read/why_untagged.h"

#include <fmt/core.h>

#include <array>

namespace onnx_tag {
namespace {

struct Framework {
  std::string_view producer;  // how the file's producer begins
  std::string_view name;
};

// The framework of the file, if it is not PyTorch; or "".
std::string_view FrameworkOf(std::string_view dialect,
                             std::string_view producer) {
  if (dialect == "paddle") return "PaddlePaddle";
  if (dialect == "tf2onnx") return "TensorFlow";
  constexpr std::array<Framework, 9> kFrameworks = {{
      {"PaddlePaddle", "PaddlePaddle"},
      {"tf2onnx", "TensorFlow"},
      {"keras2onnx", "Keras"},
      {"skl2onnx", "scikit-learn"},
      {"mxnet", "MXNet"},
      {"CNTK", "CNTK"},
      {"chainer", "Chainer"},
      {"MATLAB", "MATLAB"},
      {"OnnxMLTools", "OnnxMLTools"},
  }};
  for (const Framework& framework : kFrameworks) {
    if (producer.starts_with(framework.producer)) return framework.name;
  }
  return "";
}

}  // namespace

std::string WhyUntagged(std::uint64_t nodes, std::string_view dialect) {
  if (nodes == 0) return "no nodes";
  const std::string_view framework = FrameworkOf(dialect, "");
  if (framework.empty()) {
    return fmt::format("names say nothing about modules (dialect {})",
                       dialect.empty() ? "unknown" : dialect);
  }
  return fmt::format("{}'s exporter wrote no names of modules", framework);
}

std::string AdviceFor(std::string_view dialect, std::string_view producer) {
  const std::string_view framework = FrameworkOf(dialect, producer);
  if (framework == "TensorFlow" || framework == "Keras") {
    return "Convert the SavedModel again with tf2onnx: it keeps the names of\n"
           "layers. Rules (--rules FILE) can name modules of any file.\n";
  }
  if (!framework.empty()) {
    return fmt::format(
        "The exporter of {} does not write paths\nof layers. Rules (--rules "
        "FILE) can name the modules of such a file.\n",
        framework);
  }
  return "Tag the file that the exporter wrote, before optimizers and\n"
         "quantizers change it. Or export it again: torch.onnx.export of torch "
         ">= 2.5 keeps\nmodule names; dynamo=True also keeps classes. A module "
         "map (--hierarchy FILE)\nhelps with any file.\n";
}

}  // namespace onnx_tag
