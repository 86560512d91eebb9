// A mapping whose steps another class follows, for `explain` and `report`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mapping/clues/clues.h"
#include "mapping/ladder/claim.h"
#include "mapping/mapping/apply_rules.h"
#include "mapping/mapping/laws.h"
#include "mapping/mapping/order_modules.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// The functions are called in this order. Each does nothing unless an observer
// needs it.
class MappingObserver {
 public:
  virtual ~MappingObserver() = default;

  virtual void Begin(const Evidence& evidence,
                     const RuleApplication& rules) = 0;
  // Before each rung of inference; `placed` has the tags of the sources and of
  // the rungs before it.
  virtual void BeforeRung(const Rung& /*rung*/, const Placed& /*placed*/) {}
  // Before the laws are applied to the tags, with all clues.
  virtual void BeforeLaws(const Clues& clues,
                          const std::vector<LawFinding>& findings,
                          const Placed& placed) = 0;
  // For each node that a rule moved, with its new module.
  virtual void AfterMove(const RuleMove& /*move*/, ModuleId /*module*/) {}
  // Before the law of classes is applied to the tags.
  virtual void AfterClasses(const std::vector<LawFinding>& findings,
                            const Tagging& tagging) = 0;
  // With the claims for nodes that no rung placed; not called if there are
  // none.
  virtual void AfterFound(std::span<const Claim> claims,
                          const ModuleTree& modules) = 0;
  // With the modules' final ids.
  virtual void AfterOrder(const ModuleIds& /*new_ids*/) {}
};

// `observer` may be null.
Tagging MapNodes(const Model& model, const MappingOptions& options,
                 const MappingFacts& facts, MappingObserver* observer);

struct ExplainedMapping {
  Tagging tagging;
  Explanation explanation;
};

// Maps the model once, and collects the clues about `node`. `all`: also what
// each rung of inference says of it, as if it were open.
ExplainedMapping MapAndExplain(const Model& model,
                               const MappingOptions& options,
                               const MappingFacts& facts, NodeId node,
                               bool all);

// Gathers why each node has its module, and which other modules were claimed
// for it, while the model is mapped.
struct GatheredClaim {
  NodeId node;
  ModuleId module;  // of the tagging; it may be left out there
  Confidence confidence;
  Source source;
  std::string because;
};

struct GatheredClaims {
  std::vector<GatheredClaim> winners;  // by node, at most one
  // Claims for another module than the winner's, at most three a node.
  std::vector<GatheredClaim> others;
};

// Other claims are the clues that did not win, and those that lost to a law or
// to a rule.
class ClaimGatherer : public MappingObserver {
 public:
  void Begin(const Evidence& evidence, const RuleApplication& rules) override;
  void BeforeLaws(const Clues& clues, const std::vector<LawFinding>& findings,
                  const Placed& placed) override;
  void AfterMove(const RuleMove& move, ModuleId module) override;
  void AfterClasses(const std::vector<LawFinding>& findings,
                    const Tagging& tagging) override;
  void AfterFound(std::span<const Claim> claims,
                  const ModuleTree& modules) override;
  void AfterOrder(const ModuleIds& new_ids) override;

  // Call it once, after the mapping.
  GatheredClaims Take();

 private:
  void Win(GatheredClaim claim);
  void Replace(NodeId node, ModuleId module, Confidence confidence,
               Source source, std::string because);

  const Evidence* evidence_ = nullptr;      // until the laws
  IdVector<NodeId, std::uint32_t> winner_;  // index in winners_
  std::vector<GatheredClaim> winners_;
  std::vector<GatheredClaim> others_;
};

}  // namespace onnx_tag
