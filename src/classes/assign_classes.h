// Gives the modules their classes: what the file records, else what the
// catalogue knows of models with such names, else what a module's operators
// and parameters leave no doubt about.
#ifndef ONNX_TAG_CLASSES_ASSIGN_CLASSES_H_
#define ONNX_TAG_CLASSES_ASSIGN_CLASSES_H_

#include <string_view>

#include "evidence/evidence.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Sets the classes of `tagging.modules`, `tagging.facts` and `tagging.root`.
// `hidden`: a family that the catalogue is to leave out (bench/).
void AssignClasses(const Evidence& evidence, Tagging& tagging,
                   std::string_view hidden = {});

// What follows from the modules' classes: `tagging.root` and the family words.
void DescribeClasses(Tagging& tagging);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLASSES_ASSIGN_CLASSES_H_
