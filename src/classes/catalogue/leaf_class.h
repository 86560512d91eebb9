// The torch.nn class of a module that the catalogue does not explain, if its
// operators and parameters allow only one.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_LEAF_CLASS_H_
#define ONNX_TAG_CLASSES_CATALOGUE_LEAF_CLASS_H_

#include "classes/catalogue/identify.h"
#include "classes/catalogue/observation.h"

namespace onnx_tag::catalogue {

// `module` has no children. The answer is never certain, because another class
// may compute the same.
ClassAnswer GuessLeafClass(const SeenModule& module);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_LEAF_CLASS_H_
