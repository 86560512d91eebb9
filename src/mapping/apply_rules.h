// What the user's rules make of a mapping.
//
// Rules that name a node's module come first, as the top rung of every ladder;
// those that look at the module a node has come after it. Classes, tags and
// roles are given at the end, over all that was found.
#ifndef ONNX_TAG_MAPPING_APPLY_RULES_H_
#define ONNX_TAG_MAPPING_APPLY_RULES_H_

#include <memory>
#include <optional>
#include <vector>

#include "ladder/claim.h"
#include "rules/rules.h"

namespace onnx_tag {

// The rung of the rules that need no module to look at.
extern const Rung kRuleRung;

// Finds the nodes of such rules, and adds the modules they name.
void GatherRules(Evidence& evidence, std::shared_ptr<const Rules> rules);

// A rule's word on a node that has a module already.
struct RuleMove {
  ModuleId module = kNo<ModuleId>;
  const Rule* rule = nullptr;
};
std::optional<RuleMove> FindMove(Evidence& evidence, NodeId node,
                                 ModuleId module);

// Moves nodes whose module a rule knows better. Modules may be added.
void MoveByRules(Evidence& evidence, Placed& placed);

// Classes: by rules, then what the rules add to the catalogue. After
// AssignClasses.
void ClassifyByRules(const Evidence& evidence, Tagging& tagging);

// Roles and tags; then a note for each rule that matched nothing. After
// AssignRoles.
void FinishRules(const Evidence& evidence, Tagging& tagging);

// What rules give a node of this module beside a module, for `explain`.
void DescribeRules(const Evidence& evidence, NodeId node, ModuleId module,
                   std::vector<std::string>& notes);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_APPLY_RULES_H_
