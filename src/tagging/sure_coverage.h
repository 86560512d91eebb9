// Which tags a coverage gate counts.
#ifndef ONNX_TAG_TAGGING_SURE_COVERAGE_H_
#define ONNX_TAG_TAGGING_SURE_COVERAGE_H_

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Nodes with a tag of medium or better. The fallback for auxiliary operations
// is low.
inline std::uint64_t SureNodes(const Coverage& coverage) {
  return coverage.tagged -
         coverage.by_confidence[static_cast<std::size_t>(Confidence::kLow)];
}

// In [0, 1]; 1 for a model without nodes.
inline double SureShare(const Coverage& coverage) {
  return coverage.nodes == 0 ? 1.0
                             : static_cast<double>(SureNodes(coverage)) /
                                   static_cast<double>(coverage.nodes);
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_SURE_COVERAGE_H_
