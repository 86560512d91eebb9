// The classes of wrappers: DataParallel, torch.compile, PEFT,
// sentence-transformers. They can wrap any model, so the catalogue does not
// have them.
#pragma once

#include <string_view>

#include "mapping/classes/catalogue/identify.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Sets the classes of wrappers that their attributes prove. The classes of the
// wrapped models must be set before. `adapters_only_scale`: see
// AdaptersOnlyScale().
void NameWrappers(bool adapters_only_scale, Tagging& tagging);

// Models with PEFT adapters (LoRA, IA3, ...).
//
// An adapter replaces a layer. It contains the layer as `base_layer`, and its
// own modules (`lora_A.default`). A fully trained layer is in
// `modules_to_save.default`. The catalogue knows the model without the
// adapters.

// Like catalogue::Identify, for the model without its adapters. Layers with an
// adapter get the class of PEFT.
catalogue::ClassAnswers IdentifyAdapted(const catalogue::Observation& seen,
                                        std::string_view hidden);

// Whether the adapters only scale the output of their layers, as in IA3.
bool AdaptersOnlyScale(const catalogue::Observation& seen);

}  // namespace onnx_tag
