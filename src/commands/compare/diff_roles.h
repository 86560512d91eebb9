// `diff --by role`: two models of any architecture.
#ifndef ONNX_TAG_COMMANDS_COMPARE_DIFF_ROLES_H_
#define ONNX_TAG_COMMANDS_COMPARE_DIFF_ROLES_H_

#include "commands/read/tagged_model.h"
#include "render/result.h"

namespace onnx_tag {

// For each role (`attention/query`): modules, layers and nodes of both models,
// and the operators that differ. Neither names nor places are compared.
Result DiffRoles(const TaggedModel& a, const TaggedModel& b);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_COMPARE_DIFF_ROLES_H_
