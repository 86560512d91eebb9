// Applies the user's rules to a mapping.
//
// Rules that give a module are the first rung of every ladder. Rules with a
// condition on the module, which are here, run after the last rung. Classes,
// tags and roles are set at the end and replace all other results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mapping/ladder/claim.h"
#include "mapping/rules/rules.h"

namespace onnx_tag {

// A node that a rule moves to another module.
struct RuleMove {
  NodeId node;
  std::string module;
  std::uint32_t rule;        // its place in the file
  std::string_view because;  // lives as long as the rules
};

class RuleApplication {
 public:
  // `rules` may be null.
  explicit RuleApplication(std::shared_ptr<const Rules> rules);

  // The rule that moves a placed node to another module.
  std::optional<RuleMove> FindMove(const Evidence& evidence, NodeId node,
                                   ModuleId module) const;

  // All moves. Their modules need not exist.
  std::vector<RuleMove> FindMoves(const Evidence& evidence,
                                  const Placed& placed);

  // Sets classes from the rules, then from the catalogue in the rules. Call it
  // after AssignClasses.
  void Classify(const Model& model, const ParameterFacts& parameters,
                Tagging& tagging) const;

  // Sets roles and tags; then adds a note for each rule without a match. Call
  // it after AssignRoles.
  void Finish(const Model& model, const ParameterFacts& parameters,
              Tagging& tagging);

  // The results of rules for a node other than its module, for `explain`.
  std::vector<std::string> Describe(const Evidence& evidence, NodeId node,
                                    ModuleId module) const;

 private:
  // What the conditions on a node are compared with.
  struct NodeSource {
    const Model& model;
    const ParameterFacts& parameters;
  };

  template <typename Use>
  void ForEachModule(const Tagging& tagging, Use use) const;
  template <typename Use>
  void ForEachNode(const NodeSource& nodes, const Tagging& tagging,
                   Use use) const;

  std::shared_ptr<const Rules> rules_;
  IdVector<NodeId, int> moved_;         // the rule, or -1; may be empty
  std::vector<std::uint64_t> matches_;  // by rule
};

}  // namespace onnx_tag
