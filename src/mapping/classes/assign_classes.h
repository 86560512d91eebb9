// Assigns classes to modules: the class that the file records, else the class
// from the catalogue, else a class that the operators and parameters of a
// module prove.
#pragma once

#include <string_view>

#include "mapping/evidence/evidence.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// What classes may rest on besides the file and recordings.
struct ClassKnowledge {
  bool catalogue = true;    // classes of libraries, also from the recipe book
  std::string_view hidden;  // a family or a library to ignore (tests/bench)
};

// Sets the classes of `tagging.modules`, `tagging.facts` and `tagging.root`.
void AssignClasses(const GraphFacts& graph, const ModuleEvidence& evidence,
                   Tagging& tagging, const ClassKnowledge& knowledge = {});

// Sets `tagging.root` and the family words from the classes of the modules.
void DescribeClasses(Tagging& tagging);

}  // namespace onnx_tag
