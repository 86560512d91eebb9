// Adapters of PEFT: low-rank matrices that are added to weights.
#ifndef ONNX_TAG_USES_WEIGHTS_LORA_H_
#define ONNX_TAG_USES_WEIGHTS_LORA_H_

#include <string>
#include <unordered_map>

#include "uses/weights/checkpoint.h"
#include "uses/weights/transforms.h"

namespace onnx_tag::weights {

// What an adapter adds, by the name of the parameter. `config` is the text of
// adapter_config.json. Throws Error(kUsage) for an adapter that is not a plain
// LoRA, and for a parameter that `base` does not have.
std::unordered_map<std::string, LowRank> ReadLora(const std::string& config,
                                                  const Checkpoint& adapter,
                                                  const Checkpoint& base);

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_USES_WEIGHTS_LORA_H_
