// The torch.nn class of a module that no catalogue explains, where its
// operators and parameters leave no other.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_LEAF_CLASS_H_
#define ONNX_TAG_CLASSES_CATALOGUE_LEAF_CLASS_H_

#include "classes/catalogue/identify.h"
#include "classes/catalogue/observation.h"

namespace onnx_tag::catalogue {

// `module` has no children. Never certain: a class of the model's own may
// compute the same.
ClassAnswer GuessLeafClass(const SeenModule& module);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_LEAF_CLASS_H_
