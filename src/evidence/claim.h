// What a source of knowledge says about one node.
#ifndef ONNX_TAG_EVIDENCE_CLAIM_H_
#define ONNX_TAG_EVIDENCE_CLAIM_H_

#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct Claim {
  NodeId node;
  ModuleId module;
  Confidence confidence;
  Source source;
  std::string_view because;  // a sentence for people
};

using Claims = std::vector<Claim>;

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_CLAIM_H_
