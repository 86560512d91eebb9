// Models that PEFT put adapters into: LoRA and its like.
//
// An adapter takes the place of a layer and keeps it as `base_layer`; beside it
// stand the adapter's own modules (`lora_A.default`). A layer that is trained
// in full is kept as `modules_to_save.default`. The model around them is the
// one that the catalogue knows once this is undone.
#ifndef ONNX_TAG_CLASSES_ADAPTERS_H_
#define ONNX_TAG_CLASSES_ADAPTERS_H_

#include <string_view>

#include "classes/catalogue/identify.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// As catalogue::Identify, of the model without its adapters; layers that have
// one get the class that PEFT gives them.
catalogue::Identification IdentifyAdapted(const catalogue::Observation& seen,
                                          std::string_view hidden);

// Whether adapters do no more than scale what their layers give, as IA3's.
bool AdaptersOnlyScale(const catalogue::Observation& seen);

// Names of what PEFT puts beside a layer.
inline constexpr std::string_view kBaseLayer = "base_layer";
inline constexpr std::string_view kModulesToSave = "modules_to_save";

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLASSES_ADAPTERS_H_
