// What the user's rules make of a mapping.
//
// Rules that name a node's module come first, before every rung; those that
// look at the module a node has come after the last one. Classes, tags and
// roles are given at the end, over all that was found.
#ifndef ONNX_TAG_MAPPING_APPLY_RULES_H_
#define ONNX_TAG_MAPPING_APPLY_RULES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ladder/claim.h"
#include "rules/rules.h"

namespace onnx_tag {

// A node whose module a rule knows better.
struct RuleMove {
  NodeId node;
  std::string module;
  std::uint32_t rule;  // its place in the file
};

class RuleApplication {
 public:
  // Finds the nodes of rules that need no module to look at, and adds the
  // modules they name to the evidence. `rules` may be null: there are none.
  RuleApplication(std::shared_ptr<const Rules> rules, Evidence& evidence);

  // Tags those nodes.
  void Place(Placed& placed) const;

  // The claim that Place accepts for `node`, for `explain`.
  std::optional<Claim> ClaimOn(NodeId node) const;

  // The rule that looks at the module of a placed node and gives it another.
  std::optional<RuleMove> FindMove(const Evidence& evidence, NodeId node,
                                   ModuleId module) const;
  std::string_view Because(const RuleMove& move) const {
    return rules_->rules[move.rule].because;
  }

  // All moves, counted. They are sure, and their tags say so; the new modules
  // are for the caller to set.
  const std::vector<RuleMove>& FindMoves(const Evidence& evidence,
                                         Placed& placed);

  // Classes: by rules, then what the rules add to the catalogue. After
  // AssignClasses.
  void Classify(const Evidence& evidence, Tagging& tagging) const;

  // Roles and tags; then a note for each rule that matched nothing. After
  // AssignRoles.
  void Finish(const Evidence& evidence, Tagging& tagging);

  // What rules give a node of this module beside a module, for `explain`.
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
  IdVector<NodeId, int> moved_;         // by which rule, -1: none; may be empty
  std::vector<std::uint64_t> matches_;  // by rule
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_APPLY_RULES_H_
