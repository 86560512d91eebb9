// Which nodes a rule of the user is about.
#ifndef ONNX_TAG_EVIDENCE_RULE_MATCH_H_
#define ONNX_TAG_EVIDENCE_RULE_MATCH_H_

#include <string_view>
#include <vector>

#include "evidence/evidence.h"
#include "rules/rules.h"

namespace onnx_tag {

using Captures = std::vector<std::string_view>;

// Whether the conditions on the node itself are true: all but that on its
// module. `captures` are in the order of the conditions.
bool HoldsForNode(const Rule& rule, const Model& model,
                  const ParameterFacts& parameters, NodeId node,
                  Captures& captures);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_RULE_MATCH_H_
