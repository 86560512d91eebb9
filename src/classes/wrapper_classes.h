// The classes of what wraps a model: DataParallel, torch.compile, PEFT,
// sentence-transformers. No catalogue has them: they hold any model.
#ifndef ONNX_TAG_CLASSES_WRAPPER_CLASSES_H_
#define ONNX_TAG_CLASSES_WRAPPER_CLASSES_H_

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Gives wrappers without a class what their attributes prove. The classes of
// what they hold must be there. `adapters_only_scale`: mapping/adapters.h.
void NameWrappers(bool adapters_only_scale, Tagging& tagging);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLASSES_WRAPPER_CLASSES_H_
