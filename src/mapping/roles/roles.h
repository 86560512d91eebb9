// Finds the role of each tagged node: type, component, kind of attention,
// layer.
//
// The role follows from the path and class of the module (src/data/roles.txt),
// the operator, and the use of its result. tests/mapping/roles/README.md lists
// the rules in order.
#pragma once

#include "core/graph/graph_facts.h"
#include "mapping/roles/role_vocabulary.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Replaces the roles of `tagging`. Untagged nodes have none.
void AssignRoles(const GraphFacts& graph, Tagging& tagging,
                 const RoleVocabulary& words = RoleVocabulary::BuiltIn());

}  // namespace onnx_tag
