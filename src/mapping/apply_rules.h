// Applies the user's rules to a mapping.
//
// Rules that give a module run first, before every rung. Rules with a condition
// on the module run after the last rung. Classes, tags and roles are set at the
// end and replace all other results.
#ifndef ONNX_TAG_MAPPING_APPLY_RULES_H_
#define ONNX_TAG_MAPPING_APPLY_RULES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ladder/claim.h"
#include "rules/rules.h"

namespace onnx_tag {

// A node that a rule moves to another module.
struct RuleMove {
  NodeId node;
  std::string module;
  std::uint32_t rule;  // its place in the file
};

class RuleApplication {
 public:
  // Finds the nodes of rules without a condition on the module, and adds the
  // modules of these rules to the evidence. `rules` may be null.
  RuleApplication(std::shared_ptr<const Rules> rules, Evidence& evidence);

  // Tags those nodes.
  void Place(Placed& placed) const;

  // The claim that Place accepts for `node`, for `explain`.
  std::optional<Claim> ClaimOn(NodeId node) const;

  // The rule that moves a placed node to another module.
  std::optional<RuleMove> FindMove(const Evidence& evidence, NodeId node,
                                   ModuleId module) const;
  std::string_view Because(const RuleMove& move) const {
    return rules_->rules[move.rule].because;
  }

  // All moves. Their tags are set to certain; the caller must set the modules.
  const std::vector<RuleMove>& FindMoves(const Evidence& evidence,
                                         Placed& placed);

  // Sets classes from the rules, then from the catalogue in the rules. Call it
  // after AssignClasses.
  void Classify(const Evidence& evidence, Tagging& tagging) const;

  // Sets roles and tags; then adds a note for each rule without a match. Call
  // it after AssignRoles.
  void Finish(const Evidence& evidence, Tagging& tagging);

  // The results of rules for a node other than its module, for `explain`.
  std::vector<std::string> Describe(const Evidence& evidence, NodeId node,
                                    ModuleId module) const;

 private:
  // A node that a rule places.
  struct Fact {
    NodeId node;
    ModuleId module;
    std::uint32_t rule;
  };

  Claim ClaimOf(const Fact& fact) const;
  template <typename Use>
  void ForEachModule(const Tagging& tagging, Use use) const;
  template <typename Use>
  void ForEachNode(const Evidence& evidence, const Tagging& tagging,
                   Use use) const;

  std::shared_ptr<const Rules> rules_;
  std::vector<Fact> facts_;  // by node
  std::vector<RuleMove> moves_;
  IdVector<NodeId, int> moved_;         // the rule, or -1; may be empty
  std::vector<std::uint64_t> matches_;  // by rule
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_APPLY_RULES_H_
