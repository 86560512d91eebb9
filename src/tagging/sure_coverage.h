// Which tags a coverage gate counts.
#ifndef ONNX_TAG_TAGGING_SURE_COVERAGE_H_
#define ONNX_TAG_TAGGING_SURE_COVERAGE_H_

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// In [0, 1]; 1 for a model without nodes.
inline double SureShare(const Coverage& coverage) {
  return coverage.nodes == 0 ? 1.0
                             : static_cast<double>(coverage.sure) /
                                   static_cast<double>(coverage.nodes);
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_SURE_COVERAGE_H_
