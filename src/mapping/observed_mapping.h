// A mapping whose steps another class follows, for `explain` and `report`.
#ifndef ONNX_TAG_MAPPING_OBSERVED_MAPPING_H_
#define ONNX_TAG_MAPPING_OBSERVED_MAPPING_H_

#include <span>
#include <vector>

#include "ladder/claim.h"
#include "mapping/apply_rules.h"
#include "mapping/laws.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// The functions are called in this order.
class MappingObserver {
 public:
  virtual ~MappingObserver() = default;

  virtual void Begin(const Evidence& evidence,
                     const RuleApplication& rules) = 0;
  // Before each rung; `placed` has the tags of the rungs before it.
  virtual void BeforeRung(const Rung& rung, const Placed& placed) = 0;
  // After each rung, with the claims that became tags.
  virtual void AfterRung(std::span<const Claim> accepted) = 0;
  // Before the laws are applied to the tags.
  virtual void BeforeLaws(const std::vector<LawFinding>& findings,
                          const Placed& placed) = 0;
  // For each node that a rule moved, with its new module.
  virtual void AfterMove(const RuleMove& move, ModuleId module) = 0;
  // With the claims for nodes that no rung placed; not called if there are
  // none.
  virtual void AfterFound(std::span<const Claim> claims,
                          const ModuleTree& modules) = 0;
};

// `observer` may be null.
Tagging MapNodes(const Model& model, const MappingOptions& options,
                 const MappingFacts& facts, MappingObserver* observer);

struct ExplainedMapping {
  Tagging tagging;
  Explanation explanation;
};

// Maps the model once, and collects the claims of all rungs for `node`.
ExplainedMapping MapAndExplain(const Model& model,
                               const MappingOptions& options,
                               const MappingFacts& facts, NodeId node);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_OBSERVED_MAPPING_H_
