// What each tagged node is for: type, component, kind of attention, layer.
//
// A node's role follows from its module's path and class (data/roles.txt), its
// operation, and where its result ends. tests/roles/README.md has the rules in
// their order.
#ifndef ONNX_TAG_ROLES_ROLES_H_
#define ONNX_TAG_ROLES_ROLES_H_

#include "onnx_tag/tagging.h"
#include "roles/role_vocabulary.h"

namespace onnx_tag {

// Replaces the roles of `tagging`. Untagged nodes have none.
void AssignRoles(const Model& model, Tagging& tagging,
                 const RoleVocabulary& words = RoleVocabulary::BuiltIn());

}  // namespace onnx_tag

#endif  // ONNX_TAG_ROLES_ROLES_H_
