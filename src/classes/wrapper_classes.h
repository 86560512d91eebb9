// The classes of wrappers: DataParallel, torch.compile, PEFT,
// sentence-transformers. They can wrap any model, so the catalogue does not
// have them.
#ifndef ONNX_TAG_CLASSES_WRAPPER_CLASSES_H_
#define ONNX_TAG_CLASSES_WRAPPER_CLASSES_H_

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Sets the classes of wrappers that their attributes prove. The classes of the
// wrapped models must be set before. `adapters_only_scale`: classes/adapters.h.
void NameWrappers(bool adapters_only_scale, Tagging& tagging);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLASSES_WRAPPER_CLASSES_H_
