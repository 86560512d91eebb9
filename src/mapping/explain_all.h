// Why each node has its module, and which other modules were claimed for it;
// gathered for all nodes in one pass over the ladder.
#ifndef ONNX_TAG_MAPPING_EXPLAIN_ALL_H_
#define ONNX_TAG_MAPPING_EXPLAIN_ALL_H_

#include <string>
#include <vector>

#include "onnx_tag/mapping.h"

namespace onnx_tag {

struct GatheredClaim {
  NodeId node;
  ModuleId module;  // in GatheredClaims::modules
  Confidence confidence;
  Source source;
  std::string because;
};

struct GatheredClaims {
  ModuleTree modules;
  std::vector<GatheredClaim> winners;  // by node, at most one
  // Claims for another module than the winner's, at most three a node.
  std::vector<GatheredClaim> others;
};

// Other claims are those that a rung makes where no node is placed yet.
GatheredClaims ExplainAll(const Model& model, const MappingOptions& options,
                          const MappingFacts& facts);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_EXPLAIN_ALL_H_
