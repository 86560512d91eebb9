// Gathers why each node has its module, and which other modules were claimed
// for it, while the model is mapped.
#ifndef ONNX_TAG_MAPPING_CLAIM_GATHERER_H_
#define ONNX_TAG_MAPPING_CLAIM_GATHERER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/observed_mapping.h"

namespace onnx_tag {

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

// Other claims are those that a rung makes where no node is placed yet, and
// those that lost to a law or to a rule.
class ClaimGatherer : public MappingObserver {
 public:
  void Begin(const Evidence& evidence, const RuleApplication& rules) override;
  void BeforeRung(const Rung& rung, const Placed& placed) override;
  void AfterRung(std::span<const Claim> accepted) override;
  void BeforeLaws(const std::vector<LawFinding>& findings,
                  const Placed& placed) override;
  void AfterMove(const RuleMove& move, ModuleId module) override;
  void AfterFound(std::span<const Claim> claims,
                  const ModuleTree& modules) override;

  // Call it once, after the mapping.
  GatheredClaims Take();

 private:
  void Win(GatheredClaim claim);
  void Replace(NodeId node, ModuleId module, Confidence confidence,
               Source source, std::string because);

  const Evidence* evidence_ = nullptr;      // until the laws
  Placed open_;                             // without tags
  IdVector<NodeId, std::uint32_t> winner_;  // index in winners_
  std::vector<GatheredClaim> winners_;
  std::vector<GatheredClaim> others_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_CLAIM_GATHERER_H_
