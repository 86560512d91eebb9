// Which module a weight belongs to.
#ifndef ONNX_TAG_TAGGING_WEIGHT_OWNER_H_
#define ONNX_TAG_TAGGING_WEIGHT_OWNER_H_

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The module that the weight's name says, else that of the first tagged node
// that reads it, else kNo.
ModuleId OwnerOf(const Model& model, const Tagging& tagging, ValueId weight);

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_WEIGHT_OWNER_H_
